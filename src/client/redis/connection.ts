import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { InvalidOptionsError, UnsupportedRedisError } from '../errors';

/** What applications hand in: a URL, options of ioredis, or a client of theirs, which is duplicated and otherwise left alone. */
export type RedisSource = string | RedisOptions | Redis;

/**
 * What a connection is for:
 * COMMANDS  short commands; one that gets no answer in time rejects
 * BLOCKING  one blocking read at a time; its user cuts it off itself
 */
export type ConnectionRole = 'COMMANDS' | 'BLOCKING';

export interface ConnectionOptions {
  readonly role: ConnectionRole;
  /**
   * Milliseconds until a command without an answer rejects. On a blocking connection it has to exceed every block time. Null:
   * the user of the connection cuts it off when it stalls.
   */
  readonly commandTimeoutMs: number | null;
  /** Connect anew when the server turns out to be a replica: the address may lead to the primary by then. */
  readonly leavesReplicas?: boolean;
}

const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_FIRST_MS = 20;
const RECONNECT_MAX_MS = 1_000;
const KEEP_ALIVE_MS = 5_000;
/** A frozen server never closes its side: until this is over its commands would stay open after a cut. */
const DISCONNECT_TIMEOUT_MS = 50;

/**
 * Nothing is queued while the connection is away and nothing is sent again after it was lost: a blocking read that is repeated
 * blindly takes entries that nobody handles, and an ack that waits in a queue leaves after the lease. Every command settles.
 */
function settingsOf({ commandTimeoutMs, leavesReplicas = false }: ConnectionOptions): RedisOptions {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    enableReadyCheck: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    ...(commandTimeoutMs === null ? {} : { commandTimeout: commandTimeoutMs }),
    ...(leavesReplicas ? { reconnectOnError: (error) => error.message.startsWith('READONLY') } : {}),
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: (attempt) => Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(attempt, 10), RECONNECT_MAX_MS),
  };
}

/** Opens nothing yet: the connection is made by `connect`. Throws InvalidOptionsError and UnsupportedRedisError. */
export function createConnection(source: RedisSource, options: ConnectionOptions): Redis {
  const settings = settingsOf(options);
  if (typeof source === 'string') {
    const faults = redisUrlFaults(source);
    if (faults.length > 0) throw new InvalidOptionsError('the Redis connection', faults);
    return new Redis(source, settings);
  }
  if (!isClient(source)) return new Redis({ ...source, ...settings });
  if (source.isCluster) {
    throw new UnsupportedRedisError([
      'a client for Redis Cluster was given, and only standalone is supported',
    ]);
  }
  return source.duplicate(settings);
}

/** By shape, not by class: the application may have another copy of ioredis. */
function isClient(source: RedisOptions | Redis): source is Redis {
  return typeof (source as Partial<Redis>).duplicate === 'function';
}

const REDIS_URL = /^rediss?:\/\/(?:(?<credentials>.*)@)?[^@/#?]+/s;

/** Reserved characters in a password make a URL name another host, without any error. Never quotes the URL: it has a password. */
export function redisUrlFaults(url: string): string[] {
  const match = REDIS_URL.exec(url);
  if (/[@/#?]/.test(match?.groups?.['credentials'] ?? '')) {
    return ['the Redis URL has one of @ / # ? in its user name or password: write them percent-encoded'];
  }
  return match !== null && URL.canParse(url)
    ? []
    : ['the Redis URL must look like redis://user:password@host:6379/0 (rediss: for TLS)'];
}
