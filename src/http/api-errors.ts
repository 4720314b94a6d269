import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiResponse } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorBody, type ErrorCode, type ErrorDetail } from '../protocol';
import { reasonOf } from './error-body';

export class ErrorDetailDto implements ErrorDetail {
  @ApiProperty({ description: 'Path of the field.', example: 'ownedShards[3].shardIndex' })
  readonly field!: string;

  @ApiProperty({ description: 'What it must be.', example: 'must be an integer from 0 to 9007199254740991' })
  readonly rule!: string;
}

/** What every failed request is answered with. */
export class ErrorBodyDto implements ErrorBody {
  @ApiProperty({ description: 'The HTTP reason in upper snake case.', example: 'CONFLICT' })
  readonly status!: string;

  @ApiProperty({ enum: Object.keys(ERROR_CODES), example: 'GROUP_ALREADY_EXISTS' })
  readonly errorCode!: ErrorCode;

  @ApiProperty({
    description: 'For people.',
    example: 'group orders-consumer of stream orders exists already',
  })
  readonly message!: string;

  @ApiProperty({ description: 'Whether the same request can succeed later.', example: false })
  readonly retryable!: boolean;

  @ApiProperty({
    type: [ErrorDetailDto],
    required: false,
    description: 'With INVALID_REQUEST: each field that is wrong.',
  })
  readonly details?: readonly ErrorDetailDto[];
}

/** What any route that asks Redis can answer. */
const STORE_ERRORS: readonly ErrorCode[] = [
  'METADATA_STORE_UNAVAILABLE',
  'METADATA_CORRUPT',
  'METADATA_SCHEMA_UNSUPPORTED',
];
/** What any route that runs a critical section can answer besides. */
const SECTION_ERRORS: readonly ErrorCode[] = [
  'COORDINATOR_TERMINATING',
  'COORDINATOR_BUSY',
  'METADATA_LOCK_TIMEOUT',
  ...STORE_ERRORS,
];
const ALWAYS: readonly ErrorCode[] = ['INVALID_REQUEST', 'INTERNAL_ERROR'];
const WITH_BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** Documents the errors of a route that reads. */
export function ApiReadErrors(...codes: readonly ErrorCode[]): MethodDecorator {
  return documented([...ALWAYS, ...STORE_ERRORS, ...codes]);
}

/** Documents the errors of a route that changes a group. */
export function ApiMutationErrors(...codes: readonly ErrorCode[]): MethodDecorator {
  return documented([...ALWAYS, ...WITH_BODY, ...SECTION_ERRORS, ...codes]);
}

function documented(codes: readonly ErrorCode[]): MethodDecorator {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { httpStatus } = ERROR_CODES[code];
    byStatus.set(httpStatus, [...(byStatus.get(httpStatus) ?? []), code]);
  }
  const responses = [...byStatus].map(([status, ofStatus]) =>
    ApiResponse({
      status,
      type: ErrorBodyDto,
      description: ofStatus.join(', '),
      example: exampleOf(status, ofStatus[0] ?? 'INTERNAL_ERROR'),
    }),
  );
  return applyDecorators(...responses);
}

function exampleOf(status: number, code: ErrorCode): ErrorBody {
  const details = [{ field: 'requestedBy', rule: 'must be text of 1 to 200 characters' }];
  return {
    status: reasonOf(status),
    errorCode: code,
    message: code.toLowerCase().replaceAll('_', ' '),
    retryable: ERROR_CODES[code].retryable,
    ...(code === 'INVALID_REQUEST' ? { details } : {}),
  };
}
