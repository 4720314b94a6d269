import { InvalidMessageError, NonRetryableError, RetryableError } from '../handler-errors';

export type DeadLetterReason = 'NON_RETRYABLE' | 'MAX_DELIVERIES';

/**
 * What becomes of an entry whose handler threw.
 * INVALID      acknowledged, counted, handed to onInvalid
 * DEAD_LETTER  moved to the dead-letter stream
 * AGAIN        the same entry after a backoff; `isCounted`: this attempt counts towards maxDeliveries
 */
export type FailureOutcome =
  | { readonly kind: 'INVALID'; readonly error: InvalidMessageError }
  | { readonly kind: 'DEAD_LETTER'; readonly reason: DeadLetterReason }
  | { readonly kind: 'AGAIN'; readonly isCounted: boolean };

export function outcomeOfFailure(
  error: unknown,
  deliveryCount: number,
  maxDeliveries: number,
): FailureOutcome {
  if (isA(error, InvalidMessageError)) return { kind: 'INVALID', error };
  if (isA(error, NonRetryableError)) return { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE' };
  if (isA(error, RetryableError)) return { kind: 'AGAIN', isCounted: false };
  if (deliveryCount >= maxDeliveries) return { kind: 'DEAD_LETTER', reason: 'MAX_DELIVERIES' };
  return { kind: 'AGAIN', isCounted: true };
}

/** Also of another copy of this package: by its name and code. */
function isA<Kind extends Error & { readonly code: string }>(
  error: unknown,
  kind: new (message: string) => Kind,
): error is Kind {
  if (error instanceof kind) return true;
  return (
    error instanceof Error && error.name === kind.name && 'code' in error && error.code === codeOf(kind.name)
  );
}

function codeOf(name: string): string | undefined {
  return {
    InvalidMessageError: 'INVALID_MESSAGE',
    NonRetryableError: 'NON_RETRYABLE',
    RetryableError: 'RETRYABLE',
  }[name];
}

const MAX_ERROR_TEXT = 1_000;

/** Of any thrown value: name and message, without the stack. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.slice(0, MAX_ERROR_TEXT);
}

/** Capped, doubling, jittered. Milliseconds. */
export interface RetryBackoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

export function backoffMs({ firstMs, maxMs }: RetryBackoff, failures: number, random: () => number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30)) * (0.75 + random() / 4);
}
