import { hostname } from 'node:os';
import { DEFAULT_TIMING } from '../protocol';
import { LOG_LEVELS } from './coordinator-options';
import { choiceOption, integerOption, patternOption, secretOption } from './option-kinds';
import { readRedisUrl } from './redis-address';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A group's aggregate with this many shards is some megabytes of JSON: more belongs into another stream. */
export const SHARD_COUNT_CEILING = 16_384;

const HOST_PATTERN = /^[A-Za-z0-9.:%_-]{1,255}$/;
const COORDINATOR_ID_PATTERN = /^[A-Za-z0-9_.:@-]{1,200}$/;
// Never braces: they would move the hash slot of every key.
const KEY_PREFIX_PATTERN = /^[A-Za-z0-9_.:-]{1,100}$/;

const timingOption = (variable: string, meaning: string, min: number, max: number, fallback: number) =>
  integerOption({ variable, meaning, unit: 'ms', min, max, default: fallback });

/**
 * Every option of the coordinator: meaning, unit, default and bounds, once. The configuration table of the README is
 * printed from it. Rules across options are in option-rules.ts.
 */
export const OPTIONS = {
  host: patternOption({
    variable: 'HOST',
    meaning:
      'Address to listen on. Beyond loopback only with `AUTH=disabled`, as long as there is no authentication.',
    pattern: HOST_PATTERN,
    bounds: 'an address or host name',
    default: '127.0.0.1',
  }),
  port: integerOption({
    variable: 'PORT',
    meaning: 'Port to listen on; 0 takes any free one.',
    unit: '-',
    min: 0,
    max: 65_535,
    default: 8080,
  }),
  redisUrl: secretOption({
    variable: 'REDIS_URL',
    meaning:
      'The Redis that holds metadata and streams; `rediss:` for TLS. Reserved characters in a password must be percent-encoded.',
    bounds: 'redis://[user:password@]host[:port][/db]',
    default: 'redis://127.0.0.1:6379',
    defaultValue: 'redis://127.0.0.1:6379',
    parse: readRedisUrl,
  }),
  coordinatorId: patternOption({
    variable: 'COORD_ID',
    meaning: 'Names this process in logs and monitoring; different for each coordinator.',
    pattern: COORDINATOR_ID_PATTERN,
    bounds: '1 to 200 of A-Z a-z 0-9 _ . : @ -',
    default: hostname(),
    defaultText: 'the host name',
  }),
  keyPrefix: patternOption({
    variable: 'COORD_KEY_PREFIX',
    meaning: 'Begins every Redis key of the coordinator (not those of the streams).',
    pattern: KEY_PREFIX_PATTERN,
    bounds: '1 to 100 of A-Z a-z 0-9 _ . : -',
    default: 'redis-stream:coord',
  }),
  heartbeatIntervalMs: timingOption(
    'COORD_HEARTBEAT_INTERVAL_MS',
    'How often a member reports; also the longest that a long poll is held.',
    100,
    HOUR_MS,
    DEFAULT_TIMING.heartbeatIntervalMs,
  ),
  memberLeaseTtlMs: timingOption(
    'COORD_MEMBER_LEASE_TTL_MS',
    'How long a member keeps its shards after its last heartbeat.',
    500,
    HOUR_MS,
    DEFAULT_TIMING.memberLeaseTtlMs,
  ),
  rebalanceTimeoutMs: timingOption(
    'COORD_REBALANCE_TIMEOUT_MS',
    'How long a member may take to give up a shard before it is fenced.',
    1_000,
    DAY_MS,
    DEFAULT_TIMING.rebalanceTimeoutMs,
  ),
  tickIntervalMs: timingOption(
    'COORD_TICK_INTERVAL_MS',
    'How often the event loop looks for groups that are due.',
    50,
    MINUTE_MS,
    DEFAULT_TIMING.tickIntervalMs,
  ),
  lockTtlMs: timingOption(
    'COORD_LOCK_TTL_MS',
    'When the lock of a group frees itself after its holder died.',
    500,
    5 * MINUTE_MS,
    DEFAULT_TIMING.lockTtlMs,
  ),
  routingRefreshMs: timingOption(
    'COORD_ROUTING_REFRESH_MS',
    'How often a publisher refreshes its routing.',
    100,
    HOUR_MS,
    DEFAULT_TIMING.routingRefreshMs,
  ),
  routingLeaseMs: timingOption(
    'COORD_ROUTING_LEASE_MS',
    'How long a publisher may use a routing that it could not refresh.',
    500,
    DAY_MS,
    DEFAULT_TIMING.routingLeaseMs,
  ),
  memberRetentionMs: timingOption(
    'COORD_MEMBER_RETENTION_MS',
    'How long expired and fenced members are remembered, so that their zombies are told so.',
    500,
    30 * DAY_MS,
    DEFAULT_TIMING.memberRetentionMs,
  ),
  defaultShardCount: integerOption({
    variable: 'COORD_DEFAULT_SHARD_COUNT',
    meaning: 'Shards of a stream that is created without a count.',
    unit: 'shards',
    min: 1,
    max: SHARD_COUNT_CEILING,
    default: 4,
  }),
  maxShardCount: integerOption({
    variable: 'COORD_MAX_SHARD_COUNT',
    meaning: 'Most shards of a stream; a shard index at or above it is refused.',
    unit: 'shards',
    min: 1,
    max: SHARD_COUNT_CEILING,
    default: 4096,
  }),
  maxMembers: integerOption({
    variable: 'COORD_MAX_MEMBERS',
    meaning: 'Most members of a group.',
    unit: 'members',
    min: 1,
    max: 100_000,
    default: 2000,
  }),
  shutdownGraceMs: integerOption({
    variable: 'SHUTDOWN_GRACE_MS',
    meaning: 'From SIGTERM to the end of the process at the latest, even if Redis does not answer.',
    unit: 'ms',
    min: 100,
    max: 10 * MINUTE_MS,
    default: 10_000,
  }),
  logLevel: choiceOption({
    variable: 'LOG_LEVEL',
    meaning: 'Least severe lines that are logged; `debug` shows an access line for each heartbeat.',
    choices: LOG_LEVELS,
    default: 'info',
  }),
  authentication: choiceOption({
    variable: 'AUTH',
    meaning: '`disabled`: said aloud that whoever reaches the port may do everything. Unset: loopback only.',
    choices: ['disabled'],
    default: 'loopback-only',
    defaultText: 'unset',
  }),
} as const;

/** Options of later versions: named here so that setting one is refused instead of ignored. */
export const COMING_LATER: ReadonlyMap<string, string> = new Map([
  ['REDIS_CLUSTER_NODES', 'Redis Cluster is not supported yet; use REDIS_URL with a standalone Redis'],
  ['REDIS_SENTINELS', 'Redis Sentinel is not supported yet; use REDIS_URL with a standalone Redis'],
  ['REDIS_SENTINEL_MASTER', 'Redis Sentinel is not supported yet; use REDIS_URL with a standalone Redis'],
]);
