import { Inject, Injectable } from '@nestjs/common';
import type { RedisModuleOptions, RedisOptionsFactory } from '@liaoliaots/nestjs-redis';
import type { RedisOptions as ClientOptions } from 'ioredis';
import { REDIS_OPTIONS, type RedisOptions } from './redis-options';
import { checkedRedisUrl } from './redis-url';

/** Names of the two connections: commands, and the subscription to notices (which can send no commands). */
export const COMMANDS_CLIENT = 'commands';
export const NOTICES_CLIENT = 'notices';

const FIRST_RETRY_DELAY_MS = 50;
/** Short: readiness must be back within 2 s of Redis being back. */
const MAX_RETRY_DELAY_MS = 1_000;
/** A connection that lived for so long ends a row of failures. */
const STABLE_CONNECTION_MS = 5_000;
/** A frozen server never closes its side: a connection that is given up is destroyed after this. */
const DISCONNECT_TIMEOUT_MS = 100;

/** Grows from 50 ms to 1 s; never gives up, because a coordinator recovers without a restart. */
export function retryDelayMs(attempt: number): number {
  return Math.min(FIRST_RETRY_DELAY_MS * 2 ** Math.min(attempt - 1, 10), MAX_RETRY_DELAY_MS);
}

/**
 * Counts failed connections itself: for the driver each one that opened is a success, also if its password is then refused.
 * `nowMs` is any monotonic clock.
 */
export function retryStrategy(nowMs: () => number = () => performance.now()): () => number {
  let attempts = 0;
  let lastAttemptMs = -Infinity;
  return () => {
    attempts = nowMs() - lastAttemptMs > STABLE_CONNECTION_MS ? 1 : attempts + 1;
    lastAttemptMs = nowMs();
    return retryDelayMs(attempts);
  };
}

/**
 * Nothing is queued while there is no connection, and nothing is sent again by the driver: a write that it repeats behind our
 * back could follow a later one. Every command has a deadline.
 * The driver sends nothing of its own while it connects (name, version, ready check): with one of these under way when the
 * connection is lost, it takes itself for connected and never connects again.
 */
export function clientOptions(options: RedisOptions): ClientOptions {
  return {
    connectTimeout: options.connectTimeoutMs,
    commandTimeout: options.commandTimeoutMs,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false, // the subscriber does it, and reports when it cannot
    maxRetriesPerRequest: 0,
    retryStrategy: retryStrategy(),
    // A loading or limited Redis then answers with its own error, instead of passing for a missing connection.
    enableReadyCheck: false,
    disableClientInfo: true,
  };
}

/** Tells @liaoliaots/nestjs-redis which connections to make. */
@Injectable()
export class RedisClientOptions implements RedisOptionsFactory {
  constructor(@Inject(REDIS_OPTIONS) private readonly options: RedisOptions) {}

  /** @throws RedisUrlError */
  createRedisOptions(): RedisModuleOptions {
    const url = checkedRedisUrl(this.options.url);
    return {
      closeClient: false, // its quit would wait for a frozen Redis without end: RedisConnections closes
      readyLog: false,
      errorLog: false,
      config: [
        { ...clientOptions(this.options), namespace: COMMANDS_CLIENT, url },
        { ...clientOptions(this.options), namespace: NOTICES_CLIENT, url },
      ],
    };
  }
}
