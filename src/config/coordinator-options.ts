import type { CoordinationTiming } from '../domain/time';

/** Injection token of the one, frozen set of options. */
export const COORDINATOR_OPTIONS = Symbol('COORDINATOR_OPTIONS');

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * What the coordinator was told at its start, checked as a whole (read-options.ts) and never changed. Meaning, unit,
 * default and bounds of each are in options.ts.
 */
export interface CoordinatorOptions {
  readonly host: string;
  /** 0: any free port (tests). */
  readonly port: number;
  /** May hold a password: never logged. */
  readonly redisUrl: string;
  /** Names this process in logs, in the loop record and in /monitoring/health. */
  readonly coordinatorId: string;
  readonly keyPrefix: string;
  readonly timing: CoordinationTiming;
  readonly defaultShardCount: number;
  readonly maxShardCount: number;
  readonly maxMembers: number;
  readonly shutdownGraceMs: number;
  readonly logLevel: LogLevel;
  /** `disabled`: whoever reaches the port may do everything. `loopback-only`: nothing was said, and HOST is loopback. */
  readonly authentication: 'disabled' | 'loopback-only';
  readonly limits: DerivedLimits;
}

/** Bounds that follow from the options above, so that they cannot contradict them. Milliseconds and bytes. */
export interface DerivedLimits {
  /** From asking for the Redis lock to the commit. Below the lock's TTL: what runs longer could not commit anyway. */
  readonly sectionBudgetMs: number;
  /** One Redis command, from handing it over to its answer. A section is up to three of them. */
  readonly redisCommandTimeoutMs: number;
  /** The readiness probe as a whole: connect, write, read. Well below 2 s, so that a frozen Redis is noticed in time. */
  readonly readinessProbeTimeoutMs: number;
  /** Largest request body. Holds a heartbeat that reports progress on every shard there may be. */
  readonly bodyLimitBytes: number;
}
