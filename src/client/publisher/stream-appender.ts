/**
 * What became of one attempt to append an entry:
 * APPENDED   Redis wrote it under this id
 * MISSING    the stream does not exist; nothing was written
 * NOT_SENT   there was no connection; nothing was written
 * REJECTED   Redis refused it; nothing was written
 * UNCERTAIN  it was sent and no answer came
 */
export type AppendOutcome =
  | { readonly kind: 'APPENDED'; readonly id: string }
  | { readonly kind: 'MISSING' }
  | { readonly kind: 'NOT_SENT'; readonly cause: unknown }
  | {
      readonly kind: 'REJECTED';
      readonly redisCode: string;
      readonly retryable: boolean;
      readonly cause: Error;
    }
  | { readonly kind: 'UNCERTAIN'; readonly cause: unknown };

/** Names and values in turn. */
export type EntryFields = readonly (string | Buffer)[];

/** The way to Redis of one publisher. It never creates a stream, never queues while it is away, never sends twice. */
export interface StreamAppender {
  readonly isReady: boolean;
  /** Connects and checks that this Redis can serve a publisher. Rejects with UnsupportedRedisError or RedisUnavailableError. */
  open(sampleStreamKey: string): Promise<void>;
  /** Calls once, as soon as there is a connection; returns how to cancel it. */
  onceReady(listener: () => void): () => void;
  /** Never rejects. Settles within the stall limit after the last answer of Redis. */
  append(streamKey: string, fields: EntryFields, trimToApproximately: number | null): Promise<AppendOutcome>;
  close(): void;
}
