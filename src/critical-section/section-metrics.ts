import type { RoundCause } from '../domain/group/group-metadata';
import type { CommittedChange } from '../metrics/tenure-changes';
import type { CommitOutcome } from '../store/metadata-store';

export type DecisionOutcome =
  /** Something was written. */
  | 'COMMITTED'
  /** Nothing had to be written. */
  | 'UNCHANGED'
  /** The command threw, or what it decided broke an invariant. */
  | 'FAILED';

/** What the critical section tells of itself. Labels are closed sets; names of commands are few and fixed. */
export interface SectionMetrics {
  /** From the first asking for the Redis lock to having it, milliseconds. */
  lockWaited(ms: number): void;
  /** A section from having the lock to its answer, milliseconds, with the number of commands decided in it. */
  sectionEnded(ms: number, batchSize: number): void;
  commitRefused(kind: Exclude<CommitOutcome['kind'], 'COMMITTED'> | 'OVER_BUDGET'): void;
  /** A write that moved the group, with what it was before. */
  committed(change: CommittedChange): void;
  queueFull(): void;
  decided(command: string, outcome: DecisionOutcome): void;
  /** Heartbeats answered without lock and load. */
  fastPathHit(count: number): void;
  /** Heartbeats that were sent on to a section. */
  fastPathMiss(reason: 'UNKNOWN_GROUP' | 'CHANGES' | 'STALE' | 'LEASE_OVER'): void;
  alerted(alert: string): void;
  correctionStarted(cause: RoundCause): void;
  /** Milliseconds from its start. */
  correctionEnded(cause: RoundCause, ms: number): void;
  metadataUnreadable(kind: 'CORRUPT' | 'SCHEMA_UNSUPPORTED'): void;
  provisioningFailed(): void;
  longPollsWaiting(count: number): void;
}

/** Where a person is told of what went wrong; the implementation bounds the lines per kind and time. */
export interface FaultReporter {
  report(kind: string, level: 'warn' | 'error', fields: Readonly<Record<string, unknown>>): void;
}

export const NO_SECTION_METRICS: SectionMetrics = {
  lockWaited: () => undefined,
  sectionEnded: () => undefined,
  commitRefused: () => undefined,
  committed: () => undefined,
  queueFull: () => undefined,
  decided: () => undefined,
  fastPathHit: () => undefined,
  fastPathMiss: () => undefined,
  alerted: () => undefined,
  correctionStarted: () => undefined,
  correctionEnded: () => undefined,
  metadataUnreadable: () => undefined,
  provisioningFailed: () => undefined,
  longPollsWaiting: () => undefined,
};
