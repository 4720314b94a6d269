import { StreamClientError } from '../errors';

/** A consumer could not start, and closed everything again. */
export class ConsumerStartError extends StreamClientError {
  readonly code = 'CONSUMER_START_FAILED';
  readonly retryable = true;
  constructor(reason: string, options?: { readonly cause?: unknown }) {
    super(`the consumer could not start: ${reason}`, options);
  }
}

/** A consumer stopped while a handler that ignores its abort signal still ran. Its entry is pending for the next owner. */
export class HandlersStillRunningError extends StreamClientError {
  readonly code = 'HANDLERS_STILL_RUNNING';
  readonly retryable = false;
  constructor() {
    super('the consumer stopped, and a handler that ignores context.signal still runs');
  }
}
