import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { ERROR_CODES, type ErrorBody, type ErrorCode, type ErrorDetail } from '../protocol';

/** What a failed request is answered with. */
export interface ErrorAnswer {
  readonly httpStatus: number;
  readonly body: ErrorBody;
  /** Seconds for the Retry-After header. */
  readonly retryAfterSeconds: number | null;
}

/** The properties that typed errors of all layers share. */
interface CodedError extends Error {
  readonly code: ErrorCode;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  readonly details?: readonly ErrorDetail[];
}

/** Codes whose answer asks to come back later even when the error itself names no time. */
const COME_BACK_LATER: ReadonlySet<ErrorCode> = new Set([
  'COORDINATOR_TERMINATING',
  'COORDINATOR_BUSY',
  'TOO_MANY_REQUESTS',
]);
const DEFAULT_RETRY_AFTER_MS = 1_000;
const MS_PER_SECOND = 1_000;

/** How statuses of the framework (broken JSON, unknown route, body too large) read in the terms of the contract. */
const CODE_BY_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [401, 'UNAUTHORIZED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [413, 'PAYLOAD_TOO_LARGE'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
  [429, 'TOO_MANY_REQUESTS'],
]);

/** Whatever was thrown, as the contract's error shape. Of an unknown error nothing is told but that it happened. */
export function errorAnswerOf(error: unknown): ErrorAnswer {
  if (isCoded(error)) {
    return answer(ERROR_CODES[error.code].httpStatus, error.code, error.message, {
      retryable: error.retryable ?? ERROR_CODES[error.code].retryable,
      retryAfterMs: error.retryAfterMs,
      details: error.details,
    });
  }
  const refusal = frameworkRefusal(error);
  if (refusal !== null) {
    const code = CODE_BY_STATUS.get(refusal.httpStatus) ?? 'INVALID_REQUEST';
    return answer(refusal.httpStatus, code, refusal.message, {});
  }
  return answer(500, 'INTERNAL_ERROR', 'an unexpected error; it is logged under the id of this request', {});
}

function answer(
  httpStatus: number,
  code: ErrorCode,
  message: string,
  more: {
    readonly retryable?: boolean;
    readonly retryAfterMs?: number | undefined;
    readonly details?: readonly ErrorDetail[] | undefined;
  },
): ErrorAnswer {
  const retryAfterMs = more.retryAfterMs ?? (COME_BACK_LATER.has(code) ? DEFAULT_RETRY_AFTER_MS : null);
  return {
    httpStatus,
    body: {
      status: reasonOf(httpStatus),
      errorCode: code,
      message,
      retryable: more.retryable ?? ERROR_CODES[code].retryable,
      ...(more.details === undefined ? {} : { details: more.details }),
    },
    retryAfterSeconds: retryAfterMs === null ? null : Math.max(1, Math.ceil(retryAfterMs / MS_PER_SECOND)),
  };
}

/** `409` -> `CONFLICT`, `422` -> `UNPROCESSABLE_ENTITY`. */
export function reasonOf(httpStatus: number): string {
  return (STATUS_CODES[httpStatus] ?? 'Unknown').toUpperCase().replaceAll(/[^A-Z]+/g, '_');
}

function isCoded(error: unknown): error is CodedError {
  return error instanceof Error && 'code' in error && Object.hasOwn(ERROR_CODES, String(error.code));
}

/** 4xx of Nest (unknown route) and of Fastify (broken JSON, wrong content type): their messages name no internals. */
function frameworkRefusal(error: unknown): { httpStatus: number; message: string } | null {
  if (error instanceof HttpException) return clientError(error.getStatus(), error.message);
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') {
    return clientError(error.statusCode, error.message);
  }
  return null;
}

function clientError(httpStatus: number, message: string): { httpStatus: number; message: string } | null {
  return httpStatus >= 400 && httpStatus < 500 ? { httpStatus, message } : null;
}
