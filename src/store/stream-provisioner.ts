import type { ConsumerGroup, StreamPrefix } from '../domain/ids';

/** Creates and removes the streams themselves. Every call can be repeated: what exists already is fine. */
export interface StreamProvisioner {
  /**
   * Creates the streams of all shards where missing, each with the Redis consumer group, which reads from the first entry.
   * @throws ProvisioningError when Redis refused or could not be asked; some streams may exist then, a repetition goes on.
   */
  provision(streamPrefix: StreamPrefix, shardCount: number, consumerGroup: ConsumerGroup): Promise<void>;
  /**
   * Deletes the streams of all shards, with all entries and Redis groups.
   * @throws ProvisioningError as above.
   */
  purge(streamPrefix: StreamPrefix, shardCount: number): Promise<void>;
}

/** Not every stream could be created or deleted. */
export class ProvisioningError extends Error {
  readonly code = 'REDIS_STREAM_PROVISIONING_FAILED';
  constructor(
    readonly streamPrefix: StreamPrefix,
    /** What Redis said of the first stream that failed. */
    reason: string,
    readonly retryable: boolean,
    options: { cause: unknown },
  ) {
    super(`the streams of ${streamPrefix} could not all be created or deleted: ${reason}`, options);
    this.name = 'ProvisioningError';
  }
}
