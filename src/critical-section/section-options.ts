import type { CoordinationTiming } from '../domain/time';
import type { MutexBounds } from './local-mutex';
import type { RedisLockOptions } from './redis-lock';

/** Commands that one section decides, and heartbeats that one renewal carries, at most. */
const MAX_BATCH = 256;
const MAX_QUEUED_PER_GROUP = 2_048;
const MAX_QUEUED_TOTAL = 16_384;
const MAX_WATCHERS = 16_384;
/** Small against a heartbeat interval, large against the way of a heartbeat through the process. Milliseconds. */
const GATHER_MS = 20;
/** Decisions on fresh state before a command gives up. */
const MAX_ATTEMPTS = 5;
/** A dead coordinator's lock ends within its TTL; the margin is for asking once more. Parts of the TTL. */
const LOCK_WAIT_FACTOR = 1.2;
/** Above the wait for the Redis lock: who queues behind a section that waits for a dead holder's lock is served by it. */
const QUEUE_WAIT_FACTOR = 1.6;

export interface SectionOptions extends MutexBounds, RedisLockOptions {
  readonly timing: CoordinationTiming;
  readonly maxMembers: number;
  /** From asking for the lock to the commit, milliseconds; below the lock's TTL. What takes longer is decided again. */
  readonly sectionBudgetMs: number;
  readonly maxAttempts: number;
  readonly maxWatchers: number;
  /** How long renewals of a group under load are gathered for one call, milliseconds; 0: not at all. */
  readonly gatherMs: number;
}

/** The bounds of the critical section, derived from what an operator can set. */
export function sectionOptions(given: {
  readonly timing: CoordinationTiming;
  readonly maxMembers: number;
  readonly sectionBudgetMs: number;
}): SectionOptions {
  const { lockTtlMs } = given.timing;
  return {
    ...given,
    lockTtlMs,
    lockWaitMs: lockTtlMs * LOCK_WAIT_FACTOR,
    queueWaitMs: lockTtlMs * QUEUE_WAIT_FACTOR,
    maxBatch: MAX_BATCH,
    maxQueuedPerGroup: MAX_QUEUED_PER_GROUP,
    maxQueuedTotal: MAX_QUEUED_TOTAL,
    maxAttempts: MAX_ATTEMPTS,
    maxWatchers: MAX_WATCHERS,
    gatherMs: GATHER_MS,
  };
}
