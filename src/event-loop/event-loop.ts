import type { CoordinationTiming, MonotonicMillis } from '../domain/time';
import type { ClockGuard } from '../critical-section/clock-guard';
import type { LoopView } from '../critical-section/loop-view';
import { observeCall } from '../critical-section/observed-store';
import type { Clock } from '../critical-section/runtime-ports';
import type { FaultReporter } from '../critical-section/section-metrics';
import type { ShutdownGate } from '../critical-section/shutdown-gate';
import type { LoopPass, LoopStore } from '../store/group-index';
import { StoreError } from '../store/metadata-store';
import type { DueGroups } from './due-groups';
import type { LoopMetrics } from './loop-metrics';

/** Due groups that one pass takes; the next one takes the next. */
const MAX_DUE_PER_PASS = 1_000;

export interface EventLoopParts {
  readonly coordinatorId: string;
  readonly timing: CoordinationTiming;
  readonly loopStore: Pick<LoopStore, 'pass'>;
  readonly dueGroups: Pick<DueGroups, 'lookAt'>;
  readonly gate: Pick<ShutdownGate, 'isClosed'>;
  readonly loopView: LoopView;
  readonly clockGuard: ClockGuard;
  readonly clock: Clock;
  readonly faults: FaultReporter;
  readonly metrics: LoopMetrics;
}

/**
 * One tick is one call to Redis: it records that a coordinator is alive and returns the groups that are due. The work on them
 * goes on beside the ticks and never overlaps itself: while it is under way, ticks only record the pass.
 * A tick whose predecessor still waits for Redis does nothing: one call at a time is enough to find out that it is back.
 */
export class EventLoop {
  private isPassing = false;
  private work: Promise<void> | null = null;
  private expectedAtMs: MonotonicMillis | null = null;

  constructor(private readonly parts: EventLoopParts) {}

  get isWorking(): boolean {
    return this.work !== null;
  }

  /** Resolves when the pass is recorded or has failed; the work that it found may go on. Never rejects. */
  async tick(): Promise<void> {
    const { gate, metrics } = this.parts;
    if (gate.isClosed) return;
    if (this.isPassing) {
      metrics.loopPassEnded('SKIPPED');
      return;
    }
    this.measureLag();
    this.isPassing = true;
    try {
      const pass = await this.pass();
      metrics.loopPassEnded('PASSED');
      if (pass.due.length > 0) this.startWork(pass);
    } catch (error) {
      this.failed(error);
    } finally {
      this.isPassing = false;
    }
  }

  /** Resolves when no work is under way. */
  async idle(): Promise<void> {
    await this.work;
  }

  private async pass(): Promise<LoopPass> {
    const { loopStore, loopView, coordinatorId, timing } = this.parts;
    const ticket = loopView.beginPass();
    const pass = await observeCall(
      () =>
        loopStore.pass({
          coordinatorId,
          outageAfterMs: loopView.outageAfterMs,
          leaseTtlMs: timing.memberLeaseTtlMs,
          clockJumped: ticket.clockJumped,
          hasPassed: loopView.lastPassMs !== null,
          limit: this.isWorking ? 0 : MAX_DUE_PER_PASS,
        }),
      this.parts,
    );
    loopView.recordPass(ticket, pass);
    return pass;
  }

  private startWork(pass: LoopPass): void {
    this.work = this.parts.dueGroups
      .lookAt(pass.due, pass.redisNowMs)
      .catch((error: unknown) => this.report('event-loop', error))
      .finally(() => {
        this.work = null;
      });
  }

  private failed(error: unknown): void {
    // Whatever the reason: this coordinator did not pass, so it cannot tell who was kept from renewing.
    this.parts.loopView.recordConnectionError();
    this.parts.metrics.loopPassEnded('FAILED');
    this.report('event-loop:pass', error);
  }

  private report(kind: string, error: unknown): void {
    const fault = error instanceof StoreError ? error.fault : 'UNEXPECTED';
    this.parts.faults.report(`${kind}:${fault}`, fault === 'UNEXPECTED' ? 'error' : 'warn', {
      fault,
      reason: error instanceof Error ? error.message : String(error),
    });
  }

  private measureLag(): void {
    const nowMs = this.parts.clock.monotonicMs();
    if (this.expectedAtMs !== null) this.parts.metrics.loopPassLagged(Math.max(0, nowMs - this.expectedAtMs));
    this.expectedAtMs = (nowMs + this.parts.timing.tickIntervalMs) as MonotonicMillis;
  }
}
