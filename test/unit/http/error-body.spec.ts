import { NotFoundException, ServiceUnavailableException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  CoordinatorTerminatingError,
  LockTimeoutError,
  MetadataCorruptError,
  SectionQueueFullError,
} from '../../../src/critical-section/section-errors';
import { ApiError, invalidRequest } from '../../../src/http/api-error';
import { errorAnswerOf } from '../../../src/http/error-body';
import { ERROR_CODES } from '../../../src/protocol';
import { StoreError } from '../../../src/store/metadata-store';

describe('the answer to an error', () => {
  it.each(Object.entries(ERROR_CODES))(
    'of code %s has the status, reason and retryable of the contract',
    (code, spec) => {
      const { httpStatus, body } = errorAnswerOf(new ApiError(code as keyof typeof ERROR_CODES, 'because'));
      expect(httpStatus).toBe(spec.httpStatus);
      expect(body).toMatchObject({ errorCode: code, retryable: spec.retryable, message: 'because' });
      expect(body.status).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    },
  );

  it('spells the HTTP reason in upper snake case', () => {
    expect(errorAnswerOf(new ApiError('LIVE_MEMBERS_PRESENT', '')).body.status).toBe('UNPROCESSABLE_ENTITY');
    expect(errorAnswerOf(new ApiError('PAYLOAD_TOO_LARGE', '')).body.status).toBe('PAYLOAD_TOO_LARGE');
  });

  it('names each field of an invalid request', () => {
    const details = [{ field: 'a', rule: 'must be b' }];
    expect(errorAnswerOf(invalidRequest(details)).body).toMatchObject({ message: 'a must be b', details });
  });

  it.each([
    new CoordinatorTerminatingError(),
    new SectionQueueFullError('GROUP'),
    new LockTimeoutError('g', 5),
  ])('asks to come back after a whole number of seconds: %s', (error) => {
    expect(errorAnswerOf(error)).toMatchObject({ httpStatus: 503, retryAfterSeconds: 1 });
  });

  it('says of a store error whether a retry helps as the error itself does', () => {
    const cause = new Error('NOPERM');
    const fatal = new StoreError('load', 'NOT_PERMITTED', false, { cause });
    expect(errorAnswerOf(fatal)).toMatchObject({ httpStatus: 503, body: { retryable: false } });
    const passing = new StoreError('load', 'TIMEOUT', true, { cause });
    expect(errorAnswerOf(passing)).toMatchObject({ httpStatus: 503, body: { retryable: true } });
    expect(errorAnswerOf(new MetadataCorruptError('g', 'x')).body.retryable).toBe(false);
  });

  it('takes statuses of the framework below 500, and their words', () => {
    expect(errorAnswerOf(new NotFoundException('no')).body).toMatchObject({
      errorCode: 'NOT_FOUND',
      message: 'no',
    });
    const tooLarge = Object.assign(new Error('large'), {
      code: 'FST_ERR_CTP_BODY_TOO_LARGE',
      statusCode: 413,
    });
    expect(errorAnswerOf(tooLarge)).toMatchObject({
      httpStatus: 413,
      body: { errorCode: 'PAYLOAD_TOO_LARGE' },
    });
  });

  it.each([
    new Error('secret'),
    new ServiceUnavailableException('secret'),
    'secret',
    { code: 'constructor', message: 'secret' },
  ])('tells nothing of an unexpected error but that it happened: %s', (error) => {
    const { httpStatus, body } = errorAnswerOf(error);
    expect([httpStatus, body.errorCode, body.retryable]).toEqual([500, 'INTERNAL_ERROR', false]);
    expect(JSON.stringify(body)).not.toContain('secret');
  });
});
