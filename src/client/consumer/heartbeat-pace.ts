import type { MonotonicMillis } from '../../domain/time';

/** First wait after a failed request; never above a quarter of the heartbeat interval. */
const BACKOFF_FIRST_MS = 100;
/** Two long polls never start closer together than this, however fast the coordinator answers. */
const MIN_REPOLL_GAP_MS = 5;
/** A plain heartbeat is sent up to this share of the interval early, so that members do not beat in step. */
const EARLY_SHARE = 0.1;
/** In a correction round a member asks again after this share of the interval, and up to half as long more. */
const ROUND_SHARE = 0.25;
const ROUND_JITTER = 0.5;

/**
 * When a member asks next. Pure: chance comes in as `random` (0 to below 1).
 * Failures in a row: jittered waits that double up to the heartbeat interval.
 */
export class HeartbeatPace {
  private failures = 0;

  constructor(
    private intervalMs: number,
    private readonly random: () => number,
  ) {}

  get heartbeatIntervalMs(): number {
    return this.intervalMs;
  }

  follow(intervalMs: number): void {
    if (intervalMs > 0) this.intervalMs = intervalMs;
  }

  succeeded(): void {
    this.failures = 0;
  }

  afterFailure(nowMs: MonotonicMillis): MonotonicMillis {
    const firstMs = Math.min(BACKOFF_FIRST_MS, this.intervalMs / 4);
    const waitMs = Math.min(this.intervalMs, firstMs * 2 ** Math.min(this.failures, 16));
    this.failures += 1;
    return (nowMs + waitMs * (0.5 + this.random() / 2)) as MonotonicMillis;
  }

  /** The first rejoin goes out at once; from the second in a row on, with no beat answered in between, they keep their distance. */
  afterTenureEnd(nowMs: MonotonicMillis): MonotonicMillis {
    if (this.failures > 0) return this.afterFailure(nowMs);
    this.failures = 1;
    return nowMs;
  }

  afterPlainAnswer(sentAtMs: MonotonicMillis): MonotonicMillis {
    return (sentAtMs + this.intervalMs * (1 - EARLY_SHARE * this.random())) as MonotonicMillis;
  }

  /** A round waits for its members: they ask often, and not in step, although all learned of it in one instant. */
  afterRoundAnswer(nowMs: MonotonicMillis): MonotonicMillis {
    const waitMs = this.intervalMs * ROUND_SHARE * (1 + ROUND_JITTER * this.random());
    return (nowMs + waitMs) as MonotonicMillis;
  }

  /** The next poll follows at once if this one waited or brought news; one that was answered too early must not spin. */
  afterLongPoll(sentAtMs: MonotonicMillis, nowMs: MonotonicMillis, isNews: boolean): MonotonicMillis {
    const hasWaited = nowMs - sentAtMs >= this.intervalMs / 2;
    if (!hasWaited && !isNews) return this.afterPlainAnswer(sentAtMs);
    return Math.max(nowMs, sentAtMs + MIN_REPOLL_GAP_MS) as MonotonicMillis;
  }
}
