import { ERROR_CODES, type ErrorCode, type ErrorDetail } from '../protocol';

/** A request that is refused with a code of the HTTP contract. Thrown by controllers and services; the filter answers it. */
export class ApiError extends Error {
  readonly retryable: boolean;
  readonly details: readonly ErrorDetail[] | undefined;
  constructor(
    readonly code: ErrorCode,
    message: string,
    more: { readonly details?: readonly ErrorDetail[]; readonly retryable?: boolean } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.retryable = more.retryable ?? ERROR_CODES[code].retryable;
    this.details = more.details;
  }
}

/** 400, naming each field that is wrong. */
export function invalidRequest(details: readonly ErrorDetail[]): ApiError {
  const [first] = details;
  const message = first === undefined ? 'the request is not valid' : `${first.field} ${first.rule}`;
  return new ApiError('INVALID_REQUEST', message, { details });
}
