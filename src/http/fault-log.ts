import { Injectable, Logger } from '@nestjs/common';

/** At most one line per kind of fault in this time: an outage must not fill the disk. */
const QUIET_MS = 10_000;
/** Kinds are a closed set; this only bounds the memory if that is ever broken. */
const MAX_KINDS = 200;

interface Kind {
  loggedAtMs: number;
  suppressed: number;
}

/** Logs faults that repeat with every request, each kind once in ten seconds, with how many lines were left out. */
@Injectable()
export class FaultLog {
  private readonly logger = new Logger('Fault');
  private readonly kinds = new Map<string, Kind>();

  report(kind: string, level: 'warn' | 'error', fields: Readonly<Record<string, unknown>>): void {
    const nowMs = performance.now();
    const known = this.kinds.get(kind);
    if (known !== undefined && nowMs - known.loggedAtMs < QUIET_MS) {
      known.suppressed += 1;
      return;
    }
    if (known === undefined && this.kinds.size >= MAX_KINDS) return;
    this.kinds.set(kind, { loggedAtMs: nowMs, suppressed: 0 });
    this.logger[level]({ message: 'request failed', kind, leftOut: known?.suppressed ?? 0, ...fields });
  }
}
