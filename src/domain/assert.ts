/** A broken invariant of our own: a defect, never bad input. Stays on in production. */
export class InvariantViolationError extends Error {
  readonly code = 'INVARIANT_VIOLATION';
  readonly retryable = false;
  constructor(message: string) {
    super(message);
    this.name = 'InvariantViolationError';
  }
}

export function assertInvariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantViolationError(message);
}

/** Closes a switch over a union: a new variant does not compile until it is placed. */
export function assertNever(value: never): never {
  throw new InvariantViolationError(`unexpected variant ${JSON.stringify(value)}`);
}
