import type { GroupState } from '../domain/coordinator/decision';
import type { CoordinationTiming, EpochMillis } from '../domain/time';

/** What the event loop tells of itself. */
export interface LoopMetrics {
  loopPassEnded(outcome: 'PASSED' | 'FAILED' | 'SKIPPED'): void;
  /** How late a pass began, milliseconds. */
  loopPassLagged(ms: number): void;
  /** `code`: of the error, from a closed set. */
  loopGroupFailed(code: string): void;
  /** The index named a group whose metadata is gone. */
  loopGroupMissing(): void;
}

export const NO_LOOP_METRICS: LoopMetrics = {
  loopPassEnded: () => undefined,
  loopPassLagged: () => undefined,
  loopGroupFailed: () => undefined,
  loopGroupMissing: () => undefined,
};

/** Told what the event loop found of each group, by the text of its key. */
export interface LookObserver {
  groupLooked(group: string, state: GroupState, redisNowMs: EpochMillis, timing: CoordinationTiming): void;
  groupUnreadable(group: string, kind: 'CORRUPT' | 'SCHEMA_UNSUPPORTED', timing: CoordinationTiming): void;
}
