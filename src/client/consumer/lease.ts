import type { MonotonicMillis } from '../../domain/time';

/**
 * How long this process may believe in what it was told. Counted from the moment the heartbeat was sent, so that it ends
 * before the coordinator's own, which counts from when that heartbeat was processed. A value: a renewal is another lease.
 * Source: docs/protocol.md, Timing.
 */
export class Lease {
  private constructor(readonly endMs: MonotonicMillis) {}

  /** The lease of a member that holds nothing: over at any time. */
  static none(): Lease {
    return new Lease(Number.NEGATIVE_INFINITY as MonotonicMillis);
  }

  static renewedFrom(sentAtMs: MonotonicMillis, ttlMs: number): Lease {
    return new Lease((sentAtMs + ttlMs) as MonotonicMillis);
  }

  /** The boundary instant counts as over, so that two members can never both believe in a shard. */
  isOver(nowMs: MonotonicMillis): boolean {
    return nowMs >= this.endMs;
  }

  /** Milliseconds, 0 when it is over. */
  remainingMs(nowMs: MonotonicMillis): number {
    return Math.max(0, this.endMs - nowMs);
  }
}
