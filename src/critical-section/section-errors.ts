import type { ErrorCode } from '../protocol/errors';

/** When a caller that was refused for the moment should come back, milliseconds. */
const RETRY_AFTER_MS = 1_000;

/**
 * A command could not be carried through, for a reason that is not in the command. None of its changes is recorded.
 * `code` is one of the HTTP contract; `retryAfterMs` becomes the Retry-After header.
 */
export abstract class SectionError extends Error {
  abstract readonly code: ErrorCode;
  abstract readonly retryable: boolean;
  readonly retryAfterMs: number | undefined = undefined;
}

/** Termination has begun, and the command had not reached the Redis lock. */
export class CoordinatorTerminatingError extends SectionError {
  readonly code = 'COORDINATOR_TERMINATING';
  readonly retryable = true;
  override readonly retryAfterMs = RETRY_AFTER_MS;
  constructor() {
    super('this coordinator is terminating; ask another one');
    this.name = 'CoordinatorTerminatingError';
  }
}

/** A bounded queue is full. */
export class SectionQueueFullError extends SectionError {
  readonly code = 'COORDINATOR_BUSY';
  readonly retryable = true;
  override readonly retryAfterMs = RETRY_AFTER_MS;
  constructor(readonly bound: 'GROUP' | 'TOTAL' | 'WATCHERS') {
    super(`too many requests are waiting (${bound.toLowerCase()}); come back later`);
    this.name = 'SectionQueueFullError';
  }
}

/** The command waited as long as it may for the sections before it or for the Redis lock. It will not run later. */
export class LockTimeoutError extends SectionError {
  readonly code = 'METADATA_LOCK_TIMEOUT';
  readonly retryable = true;
  override readonly retryAfterMs = RETRY_AFTER_MS;
  constructor(groupText: string, waitedMs: number) {
    super(`the lock of group ${groupText} was not had within ${Math.round(waitedMs)} ms`);
    this.name = 'LockTimeoutError';
  }
}

/** The group moved between load and commit each time, or the sections took longer than their budget. */
export class StateConflictError extends SectionError {
  readonly code = 'STATE_CONFLICT';
  readonly retryable = true;
  constructor(groupText: string, attempts: number) {
    super(`group ${groupText} changed under the decision ${attempts} times`);
    this.name = 'StateConflictError';
  }
}

/** The stored value cannot be read. Nothing was overwritten; a person has to repair it. */
export class MetadataCorruptError extends SectionError {
  readonly code = 'METADATA_CORRUPT';
  readonly retryable = false;
  constructor(groupText: string, reason: string) {
    super(`the metadata of group ${groupText} cannot be read: ${reason}`);
    this.name = 'MetadataCorruptError';
  }
}

/** The stored value was written by another version of this software. Nothing was overwritten. */
export class MetadataSchemaUnsupportedError extends SectionError {
  readonly code = 'METADATA_SCHEMA_UNSUPPORTED';
  readonly retryable = false;
  constructor(groupText: string, schemaVersion: string, layoutVersion: string) {
    super(
      `the metadata of group ${groupText} has schema ${schemaVersion}, layout ${layoutVersion}, unknown here`,
    );
    this.name = 'MetadataSchemaUnsupportedError';
  }
}
