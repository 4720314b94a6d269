/** Error codes of the HTTP contract, with their HTTP status and whether repeating the same request can help. */
export const ERROR_CODES = {
  INVALID_REQUEST: { httpStatus: 400, retryable: false },
  UNAUTHORIZED: { httpStatus: 401, retryable: false },
  FORBIDDEN: { httpStatus: 403, retryable: false },
  NOT_FOUND: { httpStatus: 404, retryable: false },
  GROUP_NOT_FOUND: { httpStatus: 404, retryable: false },
  MIGRATION_NOT_FOUND: { httpStatus: 404, retryable: false },
  MEMBER_NOT_FOUND: { httpStatus: 404, retryable: false },
  GROUP_ALREADY_EXISTS: { httpStatus: 409, retryable: false },
  ACTIVE_MIGRATION_EXISTS: { httpStatus: 409, retryable: true },
  STATE_CONFLICT: { httpStatus: 409, retryable: true },
  METADATA_CORRECTION_ACTIVE: { httpStatus: 409, retryable: true },
  PAYLOAD_TOO_LARGE: { httpStatus: 413, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { httpStatus: 415, retryable: false },
  LIVE_MEMBERS_PRESENT: { httpStatus: 422, retryable: false },
  ROLLBACK_NOT_ALLOWED: { httpStatus: 422, retryable: false },
  SHARD_COUNT_UNCHANGED: { httpStatus: 422, retryable: false },
  TOO_MANY_REQUESTS: { httpStatus: 429, retryable: true },
  INTERNAL_ERROR: { httpStatus: 500, retryable: false },
  COORDINATOR_TERMINATING: { httpStatus: 503, retryable: true },
  COORDINATOR_BUSY: { httpStatus: 503, retryable: true },
  METADATA_STORE_UNAVAILABLE: { httpStatus: 503, retryable: true },
  METADATA_LOCK_TIMEOUT: { httpStatus: 503, retryable: true },
  METADATA_CORRUPT: { httpStatus: 503, retryable: false },
  METADATA_SCHEMA_UNSUPPORTED: { httpStatus: 503, retryable: false },
  REDIS_STREAM_PROVISIONING_FAILED: { httpStatus: 503, retryable: true },
} as const;
export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorDetail {
  /** Path of the field, e.g. `ownedShards[3].shardIndex`. */
  readonly field: string;
  readonly rule: string;
}

export interface ErrorBody {
  /** The HTTP reason in upper snake case, e.g. `CONFLICT`. */
  readonly status: string;
  readonly errorCode: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: readonly ErrorDetail[];
}
