import type { MonotonicMillis } from '../../domain/time';
import type { HeartbeatAnswer } from '../../protocol';
import type { HeartbeatPace } from './heartbeat-pace';
import { Lease } from './lease';
import type { SessionTiming } from './session-options';
import { drainDeadline } from './shard-book';

/** The lengths of time that a member goes by: its own until an answer says otherwise. Milliseconds. */
export class ToldTimes {
  private rebalanceTimeoutMs: number;
  private currentLeaseTtlMs: number;

  constructor(
    timing: SessionTiming,
    private readonly pace: HeartbeatPace,
  ) {
    this.currentLeaseTtlMs = timing.memberLeaseTtlMs;
    this.rebalanceTimeoutMs = timing.rebalanceTimeoutMs;
  }

  get leaseTtlMs(): number {
    return this.currentLeaseTtlMs;
  }

  follow({ leaseTtlMs, rebalanceTimeoutMs, heartbeatIntervalMs }: HeartbeatAnswer): void {
    this.pace.follow(heartbeatIntervalMs);
    this.currentLeaseTtlMs = leaseTtlMs ?? this.currentLeaseTtlMs;
    if (rebalanceTimeoutMs > 0) this.rebalanceTimeoutMs = rebalanceTimeoutMs;
  }

  leaseFrom(sentAtMs: MonotonicMillis): Lease {
    return Lease.renewedFrom(sentAtMs, this.currentLeaseTtlMs);
  }

  drainDeadlineFrom(fromMs: MonotonicMillis): MonotonicMillis {
    return drainDeadline(fromMs, this.rebalanceTimeoutMs, this.pace.heartbeatIntervalMs);
  }
}
