/** Injection token of the options of the Redis connections. */
export const REDIS_OPTIONS = Symbol('REDIS_OPTIONS');

/** The part of a pino logger that is needed here. */
export interface FaultLogger {
  warn(fields: object, message: string): void;
  /** Told of every fault, also of those that are left out of the log: for metrics. */
  faultSeen?(fault: string): void;
}

export interface RedisOptions {
  /** `redis://[user:password@]host[:port][/db]` or `rediss:`; see redis-url.ts. May hold a password: never logged. */
  readonly url: string;
  /** Names the connections in CLIENT LIST. */
  readonly clientName: string;
  /** Begins every key of the coordinator, e.g. `redis-stream:coord`. */
  readonly keyPrefix: string;
  /** From handing a command over to its answer, ms. */
  readonly commandTimeoutMs: number;
  /** Of one attempt to connect, ms. Also how long the start waits for the first connection. */
  readonly connectTimeoutMs: number;
  readonly logger: FaultLogger;
}
