import type { HeartbeatStatus } from '../../protocol';
import type { RedisFault } from '../redis/redis-faults';
import type { RevokeReason } from './consumer-events';
import type { TenureEnd } from './session-commands';

/** Outcomes of entries that are counted. */
export type EntryOutcome =
  | 'acked'
  | 'invalid'
  | 'dead_lettered'
  | 'failed'
  | 'retryable'
  | 'deleted_pending'
  | 'ack_refused';

/** What a consumer counts. Durations in milliseconds. */
export interface ConsumerMetrics {
  entries(outcome: EntryOutcome, count: number): void;
  heartbeat(status: HeartbeatStatus | 'FAILED'): void;
  tenureEnded(reason: TenureEnd): void;
  assigned(): void;
  revoked(reason: RevokeReason): void;
  drained(durationMs: number): void;
  /** All that was found pending on a shard is dealt with. */
  takenOver(durationMs: number): void;
  correctionStarted(): void;
  /** A fault that is being retried. */
  fault(kind: RedisFault): void;
  versionStoreFault(operation: 'load' | 'save'): void;
  close(): void;
}

/** What the gauges of a consumer say when they are asked. */
export interface ConsumerReadings {
  ownedShards(): number;
  revokingShards(): number;
  correctingMembers(): number;
  /** Milliseconds, the least of all members; null before there are any. */
  leaseRemainingMs(): number | null;
  /** Milliseconds, the longest of all members; null before the first answer. */
  heartbeatAgeMs(): number | null;
}

/** Without a registry. */
export const NO_METRICS: ConsumerMetrics = {
  entries: () => undefined,
  heartbeat: () => undefined,
  tenureEnded: () => undefined,
  assigned: () => undefined,
  revoked: () => undefined,
  drained: () => undefined,
  takenOver: () => undefined,
  correctionStarted: () => undefined,
  fault: () => undefined,
  versionStoreFault: () => undefined,
  close: () => undefined,
};
