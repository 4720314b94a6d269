import type { Clock } from './clock';

/** One report per kind and this long: a fault that lasts is not a fault per retry. Milliseconds. */
const REPORT_INTERVAL_MS = 10_000;
/** Kinds are few and fixed; this bounds a mistake. */
const MAX_KINDS = 100;

/** Tells the application of faults that are being retried, each kind at most once in a while, without holding anything up. */
export class FaultReport {
  private readonly lastReportMs = new Map<string, number>();

  constructor(
    private readonly clock: Clock,
    private readonly emit: (error: Error) => void,
  ) {}

  report(kind: string, error: unknown): void {
    const nowMs = this.clock.nowMs();
    const lastMs = this.lastReportMs.get(kind);
    if (lastMs !== undefined && nowMs - lastMs < REPORT_INTERVAL_MS) return;
    if (lastMs === undefined && this.lastReportMs.size >= MAX_KINDS) return;
    this.lastReportMs.set(kind, nowMs);
    this.emit(error instanceof Error ? error : new Error(String(error)));
  }
}
