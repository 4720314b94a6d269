import { StreamClientError } from '../errors';

/** The route to the shard may be wrong: the coordinator was not reachable for a whole routing lease. Nothing was written. */
export class RoutingLeaseExpiredError extends StreamClientError {
  readonly code = 'ROUTING_LEASE_EXPIRED';
  readonly retryable = true;
  constructor(streamPrefix: string, options?: { readonly cause?: unknown }) {
    super(
      `routing of stream ${streamPrefix} is unknown or too old to be used, and the coordinator did not renew it: nothing was written`,
      options,
    );
  }
}

/** The deadline passed before the entry was sent (no connection to Redis, or no routing yet). Nothing was written. */
export class PublishTimeoutError extends StreamClientError {
  readonly code = 'PUBLISH_TIMEOUT';
  readonly retryable = true;
  constructor(waitedFor: string, timeoutMs: number, options?: { readonly cause?: unknown }) {
    super(`not sent within ${timeoutMs} ms, waiting for ${waitedFor}: nothing was written`, options);
  }
}

/**
 * The entry was sent and no answer came (connection lost, or Redis did not answer in time). It may have been written, once or,
 * if it was sent again, twice. Publishing it once more may duplicate it: consumers must tell duplicates by the entry's content.
 */
export class PublishUncertainError extends StreamClientError {
  readonly code = 'PUBLISH_UNCERTAIN';
  readonly retryable = true;
  constructor(
    readonly streamKey: string,
    /** How often it was sent without an answer. */
    readonly attempts: number,
    options: { readonly cause: unknown },
  ) {
    super(
      `the outcome of a publish to ${streamKey} is unknown: sent ${attempts} time(s) without an answer, it may have been written up to ${attempts} time(s)`,
      options,
    );
  }
}

/** Redis refused the entry. Nothing was written by the refused attempt. */
export class PublishRejectedError extends StreamClientError {
  readonly code = 'PUBLISH_REJECTED';
  constructor(
    readonly streamKey: string,
    /** The first word of Redis' error: OOM, READONLY, NOPERM, WRONGTYPE, ... */
    readonly redisCode: string,
    readonly retryable: boolean,
    options: { readonly cause: Error },
  ) {
    super(`Redis refused an entry for ${streamKey}: ${options.cause.message}`, options);
  }
}

/** As many publishes as allowed are under way. Nothing was written; try again when some have ended. */
export class BackpressureError extends StreamClientError {
  readonly code = 'BACKPRESSURE';
  readonly retryable = true;
  constructor(what: string, limit: number) {
    super(`${limit} ${what} are under way, which is the limit: nothing was written`);
  }
}

/**
 * The stream that the route names does not exist, nothing was written. A publisher never creates a stream: nobody would read
 * it. Retryable if the route could not be refreshed: it may be an old one.
 */
export class StreamMissingError extends StreamClientError {
  readonly code = 'STREAM_MISSING';
  readonly retryable: boolean;
  constructor(
    readonly streamKey: string,
    options?: { readonly cause?: unknown },
  ) {
    const isStale = options?.cause !== undefined;
    const route = isStale ? 'a route that could not be refreshed names it' : 'the current route names it';
    super(`stream ${streamKey} does not exist in Redis, and ${route}`, options);
    this.retryable = isStale;
  }
}

/** The stream has no shards at present: it was scaled to none. Nothing was written. */
export class NoShardsError extends StreamClientError {
  readonly code = 'NO_SHARDS';
  readonly retryable = true;
  constructor(streamPrefix: string) {
    super(`stream ${streamPrefix} has no shards at present: nothing was written`);
  }
}

/** An entry that Redis could not take in any case. */
export class InvalidEntryError extends StreamClientError {
  readonly code = 'INVALID_ENTRY';
  readonly retryable = false;
}
