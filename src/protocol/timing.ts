import type { CoordinationTiming } from '../domain/time';

export type { CoordinationTiming } from '../domain/time';

/** Protocol version 1. The server's answer overrides a client's default. */
export const DEFAULT_TIMING: CoordinationTiming = {
  heartbeatIntervalMs: 3_000,
  memberLeaseTtlMs: 15_000,
  rebalanceTimeoutMs: 60_000,
  tickIntervalMs: 1_000,
  routingRefreshMs: 5_000,
  routingLeaseMs: 30_000,
  lockTtlMs: 5_000,
  memberRetentionMs: 600_000,
};
