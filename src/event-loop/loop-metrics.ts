/** What the event loop tells of itself. */
export interface LoopMetrics {
  loopPassEnded(outcome: 'PASSED' | 'FAILED' | 'SKIPPED'): void;
  /** How late a pass began, milliseconds. */
  loopPassLagged(ms: number): void;
  /** `code`: of the error, from a closed set. */
  loopGroupFailed(code: string): void;
}

export const NO_LOOP_METRICS: LoopMetrics = {
  loopPassEnded: () => undefined,
  loopPassLagged: () => undefined,
  loopGroupFailed: () => undefined,
};
