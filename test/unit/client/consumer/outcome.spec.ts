import { describe, expect, it } from '@jest/globals';
import { backoffMs, errorText, outcomeOfFailure } from '../../../../src/client/consumer/outcome';
import {
  InvalidMessageError,
  NonRetryableError,
  RetryableError,
} from '../../../../src/client/handler-errors';

describe('the outcome of a handler that threw', () => {
  it.each([
    ['InvalidMessageError', new InvalidMessageError('x'), 'INVALID'],
    ['NonRetryableError', new NonRetryableError('x'), 'DEAD_LETTER'],
    ['RetryableError', new RetryableError('x'), 'AGAIN'],
    ['anything else', new TypeError('x'), 'AGAIN'],
    ['no error at all', 'text', 'AGAIN'],
  ])('is decided by %s', (_name, error, kind) => {
    expect(outcomeOfFailure(error, 1, 5).kind).toBe(kind);
  });

  it('is the same for classes of another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { name: 'RetryableError', code: 'RETRYABLE' });
    expect(outcomeOfFailure(foreign, 5, 5)).toEqual({ kind: 'AGAIN', isCounted: false });
    const stranger = Object.assign(new Error('x'), { name: 'RetryableError' });
    expect(outcomeOfFailure(stranger, 5, 5).kind).toBe('DEAD_LETTER');
  });

  it('is the dead letters from the last delivery on, and never for a RetryableError', () => {
    expect(outcomeOfFailure(new Error('x'), 4, 5)).toEqual({ kind: 'AGAIN', isCounted: true });
    expect(outcomeOfFailure(new Error('x'), 5, 5)).toEqual({ kind: 'DEAD_LETTER', reason: 'MAX_DELIVERIES' });
    expect(outcomeOfFailure(new RetryableError('x'), 500, 5)).toEqual({ kind: 'AGAIN', isCounted: false });
  });
});

describe('the text of an error', () => {
  it('is name and message, bounded, without the stack', () => {
    expect(errorText(new TypeError('no'))).toBe('TypeError: no');
    expect(errorText('no')).toBe('no');
    expect(errorText(new Error('x'.repeat(5_000))).length).toBe(1_000);
  });
});

describe('the backoff', () => {
  it('doubles up to its cap, with jitter downwards', () => {
    const limits = { firstMs: 100, maxMs: 1_000 };
    expect([0, 1, 2, 3, 4, 99].map((failures) => backoffMs(limits, failures, () => 1))).toEqual([
      ...[100, 200, 400, 800, 1_000, 1_000],
    ]);
    expect(backoffMs(limits, 0, () => 0)).toBe(75);
  });
});
