import type { ErrorDetail } from '../protocol';

/**
 * What the SDK throws. Every class has a fixed `code`, says whether the same call can succeed later (`retryable`), and keeps
 * what caused it. What a handler of a consumer throws to say what shall become of its entry is in handler-errors.ts.
 */
export abstract class StreamClientError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Options that cannot work, all faults at once. */
export class InvalidOptionsError extends StreamClientError {
  readonly code = 'INVALID_OPTIONS';
  readonly retryable = false;
  constructor(
    subject: string,
    readonly faults: readonly string[],
  ) {
    super(`${subject} cannot start: ${faults.join('; ')}`);
  }
}

/** Used after `close` or `stop`. */
export class ClientClosedError extends StreamClientError {
  readonly code = 'CLIENT_CLOSED';
  readonly retryable = false;
  constructor(subject: string) {
    super(`${subject} is closed`);
  }
}

export interface CoordinatorAnswer {
  /** E.g. `POST http://coordinator:8080/coord/v1/streams/orders`. */
  readonly request: string;
  readonly httpStatus: number;
  /** A code of the HTTP contract, `MALFORMED_ANSWER` when the answer is none, or one that a newer coordinator added. */
  readonly errorCode: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: readonly ErrorDetail[];
  /** Milliseconds, of the Retry-After header. */
  readonly retryAfterMs?: number;
  /** For a look into the coordinator's log. */
  readonly requestId?: string;
}

/** A coordinator answered, but not with what was asked for. */
export class CoordinatorRequestError extends StreamClientError {
  readonly code = 'COORDINATOR_REQUEST_FAILED';
  readonly httpStatus: number;
  readonly errorCode: string;
  readonly retryable: boolean;
  readonly details: readonly ErrorDetail[];
  readonly retryAfterMs: number | undefined;
  readonly requestId: string | undefined;
  constructor(answer: CoordinatorAnswer, options?: { readonly cause?: unknown }) {
    super(`${answer.request} answered ${answer.httpStatus} ${answer.errorCode}: ${answer.message}`, options);
    this.httpStatus = answer.httpStatus;
    this.errorCode = answer.errorCode;
    this.retryable = answer.retryable;
    this.details = answer.details ?? [];
    this.retryAfterMs = answer.retryAfterMs;
    this.requestId = answer.requestId;
  }
}

/** No coordinator answered in time. Whether the last one asked has carried the request out is unknown. */
export class CoordinatorUnreachableError extends StreamClientError {
  readonly code = 'COORDINATOR_UNREACHABLE';
  readonly retryable = true;
  constructor(
    request: string,
    readonly addresses: readonly string[],
    options: { readonly cause: unknown },
  ) {
    super(`${request}: no answer from ${addresses.join(', ')} (${reasonOf(options.cause)})`, options);
  }
}

/** The coordinator knows no such group. */
export class GroupNotFoundError extends StreamClientError {
  readonly code = 'GROUP_NOT_FOUND';
  readonly retryable = false;
  constructor(streamPrefix: string, consumerGroup: string, options?: { readonly cause?: unknown }) {
    super(
      `group ${consumerGroup} of stream ${streamPrefix} does not exist: create it with the coordinator first`,
      options,
    );
  }
}

/** The coordinator refuses what this SDK says (UNSUPPORTED_PROTOCOL, INVALID_REQUEST): repeating it does not help. */
export class ProtocolRefusedError extends StreamClientError {
  readonly code = 'PROTOCOL_REFUSED';
  readonly retryable = false;
  constructor(
    readonly status: string,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(`the coordinator refuses this client with ${status}: ${message}`, options);
  }
}

/** The Redis server lacks what the SDK needs: its version, mode or the permissions of this user. Names all that is missing. */
export class UnsupportedRedisError extends StreamClientError {
  readonly code = 'UNSUPPORTED_REDIS';
  readonly retryable = false;
  constructor(
    readonly missing: readonly string[],
    options?: { readonly cause?: unknown },
  ) {
    super(`this Redis cannot be used: ${missing.join('; ')}`, options);
  }
}

/** No connection to Redis, or Redis refuses to talk to this user. */
export class RedisUnavailableError extends StreamClientError {
  readonly code = 'REDIS_UNAVAILABLE';
  readonly retryable = true;
  constructor(options: { readonly cause: unknown }) {
    super(`Redis cannot be reached: ${reasonOf(options.cause)}`, options);
  }
}

function reasonOf(cause: unknown): string {
  const named = typeof cause === 'object' && cause !== null && 'message' in cause;
  return String(named ? cause.message : cause);
}
