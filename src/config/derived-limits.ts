import type { DerivedLimits } from './coordinator-options';

const MEBIBYTE = 1_048_576;
/** A shardProgress entry with the longest names that are common; a member may report one for each shard. */
const BODY_BYTES_PER_SHARD = 256;

/** The rest of the lock's TTL covers the way of the commit, and clocks that do not run alike. */
const SECTION_BUDGET_SHARE = 0.8;
const COMMANDS_PER_SECTION = 3;
/** Readiness must turn within 2 s of a fault, whatever the other options say. */
const READINESS_PROBE_TIMEOUT_MS = 1_000;

/** Limits that follow from options, so that nobody has to keep them consistent by hand. */
export function deriveLimits(options: {
  readonly lockTtlMs: number;
  readonly maxShardCount: number;
}): DerivedLimits {
  const sectionBudgetMs = Math.floor(options.lockTtlMs * SECTION_BUDGET_SHARE);
  return {
    sectionBudgetMs,
    redisCommandTimeoutMs: Math.floor(sectionBudgetMs / COMMANDS_PER_SECTION),
    readinessProbeTimeoutMs: READINESS_PROBE_TIMEOUT_MS,
    bodyLimitBytes: Math.max(MEBIBYTE, options.maxShardCount * BODY_BYTES_PER_SHARD),
  };
}
