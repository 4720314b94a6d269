import type { DeadLetterReason } from './outcome';

/** One entry on its way through a handler. Written by the worker that holds it and by the runner that handles it. */
export interface Attempt {
  readonly id: string;
  /** Null until it was claimed. */
  fields: readonly string[] | null;
  /** Deliveries that Redis counted; a claim adds one. */
  deliveries: number;
  /** Whether it has to be claimed before it is handled: all but what a read has just delivered. */
  needsClaim: boolean;
  /** Failures in a row under this worker, for the backoff. */
  failures: number;
  /** The application acked it by hand. */
  isAcked: boolean;
  /** What it is to become, once that was decided and Redis could not be told. */
  deadLetter: { readonly reason: DeadLetterReason; readonly error: string } | null;
}

export function deliveredAttempt(id: string, fields: readonly string[]): Attempt {
  return { id, fields, deliveries: 1, needsClaim: false, failures: 0, isAcked: false, deadLetter: null };
}

export function pendingAttempt(id: string, deliveries: number): Attempt {
  return { id, fields: null, deliveries, needsClaim: true, failures: 0, isAcked: false, deadLetter: null };
}
