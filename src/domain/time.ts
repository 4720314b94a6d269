import type { Brand } from './ids';

/** An instant of the Redis clock, milliseconds since the Unix epoch. Deadlines in the metadata are of this kind. */
export type EpochMillis = Brand<number, 'EpochMillis'>;
/** A reading of a process' monotonic clock, milliseconds since an arbitrary start. Client leases are counted on it. */
export type MonotonicMillis = Brand<number, 'MonotonicMillis'>;
/** A length of time in milliseconds. */
export type DurationMs = Brand<number, 'DurationMs'>;

export function epochMillis(value: number): EpochMillis {
  return value as EpochMillis;
}

export function durationMs(value: number): DurationMs {
  return value as DurationMs;
}

export function deadlineAfter(startMs: EpochMillis, lengthMs: DurationMs): EpochMillis {
  return (startMs + lengthMs) as EpochMillis;
}

/** Whether a deadline is over. The boundary instant counts as over, so that coordinator and member can never both believe in it. */
export function isOver(deadlineMs: EpochMillis, nowMs: EpochMillis): boolean {
  return nowMs >= deadlineMs;
}

/** Times of the protocol, in milliseconds (docs/protocol.md, Timing). */
export interface CoordinationTiming {
  readonly heartbeatIntervalMs: number;
  readonly memberLeaseTtlMs: number;
  /** Time a member has to drain a shard that its target no longer names. */
  readonly rebalanceTimeoutMs: number;
  readonly tickIntervalMs: number;
  readonly routingRefreshMs: number;
  readonly routingLeaseMs: number;
  readonly lockTtlMs: number;
  /** How long expired and fenced members are kept for fencing and observation. */
  readonly memberRetentionMs: number;
}
