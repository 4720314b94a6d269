import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { parseConsumerGroup, parseMemberId, parseStreamPrefix } from '../../domain/ids';
import type { StreamPrefix } from '../../domain/ids';
import { DEFAULT_TIMING } from '../../protocol';
import { InvalidOptionsError } from '../errors';
import type { MetricsRegistry } from '../metrics/sampled-metric';
import type { RedisSource } from '../redis/connection';
import type { VersionStore } from '../versions/version-store';
import type { Clock } from './clock';
import type { CoordinatorPort } from './coordinator-port';
import type { MessageHandler } from './message';
import type { RetryBackoff } from './outcome';
import type { SessionTiming } from './session-options';
import type { HandlingOptions, InvalidMessageHandler } from './worker-environment';

export interface StreamConsumerOptions {
  /** Address of the coordinator, or several that serve the same Redis. */
  readonly coordinatorUrl?: string | readonly string[];
  /** Instead of `coordinatorUrl`: a client that is shared. It is not closed by the consumer. */
  readonly coordinator?: CoordinatorPort;
  /** URL, ioredis options, or an ioredis client, which is duplicated. One connection for commands, one more per logical member. */
  readonly redis: RedisSource;
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  /** Handles one entry; the entry is acked when it returns (see `ackMode`). */
  readonly handler: MessageHandler;
  /** Gets what the handler threw an InvalidMessageError for. If it throws, its error decides as a handler's would. */
  readonly onInvalid?: InvalidMessageHandler;
  /** Logical members, each with its own shards; a member runs one handler at a time. 1 to 256, default 1. */
  readonly concurrency?: number;
  /**
   * Base of the member ids, `<memberId>-m0` and so on; unique in the group. A stable one (`POD_IP`, say) is recognised after a
   * restart. Default: host name and a random id.
   */
  readonly memberId?: string;
  /** For people, in monitoring. */
  readonly memberName?: string;
  /** `manual`: an entry is acked by `context.ack()`, until then it stays pending. Default `auto`. */
  readonly ackMode?: 'auto' | 'manual';
  /** Attempts until an entry goes to the dead letters, those counted that killed the process. 2 to 1,000, default 5. */
  readonly maxDeliveries?: number;
  /** Wait before the same entry is tried again, doubling from `firstMs` (default 100) to `maxMs` (default 30,000). */
  readonly retryBackoff?: Partial<RetryBackoff>;
  /** Entries read at once per shard. 1 to 10,000, default 100. */
  readonly readCount?: number;
  /** Let the coordinator hold answers until something changes. Default true. */
  readonly longPoll?: boolean;
  /** Milliseconds for a heartbeat without long poll, at most a quarter of the lease. 50 to 60,000, default 2,000. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds until `start` gives up on a coordinator that does not answer. 100 to 600,000, default 30,000. */
  readonly startTimeoutMs?: number;
  /** Times to go by until the coordinator tells its own. Milliseconds. */
  readonly timing?: Partial<SessionTiming>;
  /** A prom-client Registry: metrics `redis_stream_client_*`. */
  readonly metricsRegistry?: MetricsRegistry;
  /**
   * Keeps the highest metadataVersion that was seen beyond the life of this process, so that a loss of writes in Redis is
   * noticed by a process that starts after it. `fileVersionStore(directory)` is one. Default: none.
   */
  readonly versionStore?: VersionStore;
  /** For tests. */
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface CheckedNames {
  readonly streamPrefix: StreamPrefix;
  readonly consumerGroup: string;
  readonly memberIds: readonly string[];
}

const DEFAULT_RETRY = { firstMs: 100, maxMs: 30_000 };
const DEFAULT_MAX_DELIVERIES = 5;
const DEFAULT_READ_COUNT = 100;
const MAX_CONCURRENCY = 256;
const MEMBER_BASE_MAX_LENGTH = 190;

/** All faults at once. Throws InvalidOptionsError. */
export function checkConsumerOptions(options: StreamConsumerOptions): CheckedNames {
  const faults: string[] = [];
  const streamPrefix = parseStreamPrefix(options.streamPrefix);
  if (streamPrefix === null)
    faults.push(`streamPrefix "${options.streamPrefix}" is not [A-Za-z0-9_.:-]{1,200}`);
  const consumerGroup = parseConsumerGroup(options.consumerGroup);
  if (consumerGroup === null) {
    faults.push(`consumerGroup "${options.consumerGroup}" is not [A-Za-z0-9_.-]{1,128}`);
  }
  const base = options.memberId ?? defaultMemberId();
  if (parseMemberId(base) === null || base.length > MEMBER_BASE_MAX_LENGTH) {
    faults.push(`memberId "${base}" is not [A-Za-z0-9_.:@-]{1,${MEMBER_BASE_MAX_LENGTH}}`);
  }
  if (options.coordinatorUrl === undefined && options.coordinator === undefined) {
    faults.push('coordinatorUrl is missing');
  }
  faults.push(...numberFaults(options), ...timingFaults({ ...DEFAULT_TIMING, ...options.timing }));
  if (streamPrefix === null || consumerGroup === null || faults.length > 0) {
    throw new InvalidOptionsError('the consumer', faults);
  }
  const memberIds = Array.from({ length: options.concurrency ?? 1 }, (_, index) => `${base}-m${index}`);
  return { streamPrefix, consumerGroup, memberIds };
}

export function handlingOf(options: StreamConsumerOptions): HandlingOptions {
  return {
    handler: options.handler,
    onInvalid: options.onInvalid ?? null,
    ackMode: options.ackMode ?? 'auto',
    maxDeliveries: options.maxDeliveries ?? DEFAULT_MAX_DELIVERIES,
    retry: { ...DEFAULT_RETRY, ...options.retryBackoff },
    readCount: options.readCount ?? DEFAULT_READ_COUNT,
  };
}

function numberFaults(options: StreamConsumerOptions): string[] {
  const { retryBackoff } = options;
  const bounds: [name: string, value: number | undefined, min: number, max: number][] = [
    ['concurrency', options.concurrency, 1, MAX_CONCURRENCY],
    ['maxDeliveries', options.maxDeliveries, 2, 1_000],
    ['retryBackoff.firstMs', retryBackoff?.firstMs, 1, 3_600_000],
    ['retryBackoff.maxMs', retryBackoff?.maxMs, 1, 3_600_000],
    ['readCount', options.readCount, 1, 10_000],
    ['requestTimeoutMs', options.requestTimeoutMs, 50, 60_000],
    ['startTimeoutMs', options.startTimeoutMs, 100, 600_000],
  ];
  return bounds
    .filter(([, value, min, max]) => value !== undefined && !isWithin(value, min, max))
    .map(
      ([name, value, min, max]) => `${name} is ${String(value)}; it must be an integer from ${min} to ${max}`,
    );
}

function isWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

function timingFaults({
  heartbeatIntervalMs,
  memberLeaseTtlMs,
  rebalanceTimeoutMs,
}: SessionTiming): string[] {
  const faults: string[] = [];
  if (!(heartbeatIntervalMs > 0)) faults.push(`timing.heartbeatIntervalMs is ${heartbeatIntervalMs}`);
  if (!(3 * heartbeatIntervalMs <= memberLeaseTtlMs)) {
    faults.push('timing.memberLeaseTtlMs must be at least three heartbeat intervals');
  }
  if (!(memberLeaseTtlMs <= rebalanceTimeoutMs)) {
    faults.push('timing.rebalanceTimeoutMs must be at least timing.memberLeaseTtlMs');
  }
  return faults;
}

/** Two processes of one host must not share it. */
function defaultMemberId(): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
    .slice(0, 100);
  return `${host}-${randomUUID().slice(0, 8)}`;
}
