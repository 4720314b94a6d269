/**
 * What a consumer's handler throws to say what shall become of its entry. Anything else that it throws: the same entry again,
 * up to `maxDeliveries`, then the dead-letter stream. Source: docs/client.md, What becomes of an entry.
 */

/** The entry makes no sense and never will: it is acknowledged, counted, and handed to `onInvalid`. */
export class InvalidMessageError extends Error {
  readonly code = 'INVALID_MESSAGE';
  readonly retryable = false;
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'InvalidMessageError';
  }
}

/** No use in trying again: the entry moves to the shard's dead-letter stream and is acknowledged, in one atomic step. */
export class NonRetryableError extends Error {
  readonly code = 'NON_RETRYABLE';
  readonly retryable = false;
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'NonRetryableError';
  }
}

/** The same entry again after a capped backoff, without limit: the shard waits (for a service downstream to come back). */
export class RetryableError extends Error {
  readonly code = 'RETRYABLE';
  readonly retryable = true;
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'RetryableError';
  }
}
