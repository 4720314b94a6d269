/** Outcomes of entries that are counted. */
export type EntryOutcome =
  | 'acked'
  | 'invalid'
  | 'dead_lettered'
  | 'failed'
  | 'retryable'
  | 'deleted_pending'
  | 'ack_refused';

/** What a consumer counts. */
export interface ConsumerMetrics {
  entries(outcome: EntryOutcome, count: number): void;
  heartbeat(result: 'answered' | 'failed'): void;
  tenureEnded(reason: string): void;
  /** Kind of a fault that is being retried, of a closed list. */
  fault(kind: string): void;
  close(): void;
}

/** Without a registry. */
export const NO_METRICS: ConsumerMetrics = {
  entries: () => undefined,
  heartbeat: () => undefined,
  tenureEnded: () => undefined,
  fault: () => undefined,
  close: () => undefined,
};
