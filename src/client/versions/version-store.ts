import { StreamClientError } from '../errors';

/**
 * Keeps the highest metadataVersion that was seen of a group beyond the life of a process, so that a rollback of Redis is
 * noticed by a process that starts after it. Of one Redis only: what was seen of another one would pass for a rollback.
 * Several processes may use one store.
 */
export interface VersionStore {
  /** Null when nothing is kept under the key, which is `<streamPrefix>:<consumerGroup>`. */
  load(key: string): Promise<number | null>;
  /** Keeps the larger of `version` and what is kept already. */
  save(key: string, version: number): Promise<void>;
}

/** The version store failed, or holds what is no version. Reading and publishing go on without it. */
export class VersionStoreError extends StreamClientError {
  readonly code = 'VERSION_STORE_FAILED';
  readonly retryable = true;
  constructor(
    readonly operation: 'load' | 'save',
    key: string,
    reason: string,
    options?: { readonly cause?: unknown },
  ) {
    super(`the version store could not ${operation} "${key}": ${reason}`, options);
  }
}

export function isVersion(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
