import { sectionOptions } from '../../src/critical-section/section-options';
import type { CoordinationTiming } from '../../src/domain/time';
import type { ConsumerGroup, GroupKey, StreamPrefix } from '../../src/domain/ids';

/** The proportions of the defaults, five times as fast, so that a minute has room for many leases. Milliseconds. */
export const TIMING: CoordinationTiming = {
  heartbeatIntervalMs: 600,
  memberLeaseTtlMs: 3_000,
  rebalanceTimeoutMs: 4_000,
  tickIntervalMs: 300,
  routingRefreshMs: 1_000,
  routingLeaseMs: 6_000,
  lockTtlMs: 1_000,
  memberRetentionMs: 12_000,
};

export const SECTION_OPTIONS = sectionOptions({ timing: TIMING, maxMembers: 40, sectionBudgetMs: 600 });
/** One Redis call, from handing it over to its answer. */
export const REDIS_CALL_TIMEOUT_MS = 400;
/** What a client gives one request, its long poll aside. */
export const REQUEST_TIMEOUT_MS = 700;
export const SHUTDOWN_GRACE_MS = 1_500;

export const KEY: GroupKey = {
  streamPrefix: 'orders' as StreamPrefix,
  consumerGroup: 'billing' as ConsumerGroup,
};
