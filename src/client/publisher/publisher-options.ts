import {
  type ConsumerGroup,
  parseConsumerGroup,
  parseStreamPrefix,
  type StreamPrefix,
} from '../../domain/ids';
import type { ProducerRouting } from '../../protocol';
import type { Clock } from '../consumer/clock';
import type { CallOptions, RoutingQuery } from '../coordinator-client';
import { InvalidOptionsError } from '../errors';
import type { MetricsRegistry } from '../metrics/sampled-metric';
import type { RedisSource } from '../redis/connection';
import type { VersionStore } from '../versions/version-store';
import type { StreamAppender } from './stream-appender';

export interface StreamPublisherOptions {
  /** `http://host:8080`, or several coordinators of one Redis. */
  readonly coordinatorUrl?: string | readonly string[];
  /** Instead of `coordinatorUrl`: a client that is shared. It is not closed by the publisher. */
  readonly coordinator?: RoutingPort;
  /** A URL, options of ioredis, or a client, which is duplicated and otherwise left alone. */
  readonly redis: RedisSource;
  readonly streamPrefix: string;
  /** Any group of the stream: all of one stream route alike. */
  readonly consumerGroup: string;
  /** Publishes under way at once; one more is refused with BackpressureError. Default 1,024, from 1 to 65,536. */
  readonly maxInFlight?: number;
  /** Milliseconds until a publish is given up. Default 5,000, from 10 to 600,000. */
  readonly publishTimeoutMs?: number;
  /**
   * Milliseconds without any answer of Redis after which its connection is replaced. Default: a third of publishTimeoutMs, so
   * that an entry on it can be sent once more. From 5, below publishTimeoutMs.
   */
  readonly stallTimeoutMs?: number;
  /**
   * Sends MAXLEN ~ with every entry: Redis then DROPS the oldest entries of a shard beyond about this many, also those that no
   * consumer has read. Not set: nothing is trimmed. From 1.
   */
  readonly dangerouslyTrimToApproximately?: number;
  /** Milliseconds that routing refreshes wait at the coordinator for a change. Default 0: no long poll. Up to 60,000. */
  readonly routingWaitMs?: number;
  /** A prom-client Registry, which gets the metrics `redis_stream_client_*` of this publisher. */
  readonly metricsRegistry?: MetricsRegistry;
  /**
   * Keeps the highest metadataVersion that was seen beyond the life of this process, so that a loss of writes in Redis is
   * noticed by a process that starts after it. `fileVersionStore(directory)` is one. Default: none.
   */
  readonly versionStore?: VersionStore;
  /** Trouble in the background: a refresh or the version store that failed, a connection that was lost. Default: ignored. */
  readonly onError?: (error: unknown) => void;
}

/** What a publisher needs of a coordinator. `CoordinatorClient` is one. */
export interface RoutingPort {
  producerRouting(
    streamPrefix: string,
    consumerGroup: string,
    query?: RoutingQuery,
    options?: CallOptions,
  ): Promise<ProducerRouting>;
  /** Tells versions of the group that others of this process see; returns how to stop that. */
  onVersion?(streamPrefix: string, consumerGroup: string, listener: (version: number) => void): () => void;
}

/** What tests put in place of Redis, the clock and chance. */
export interface PublisherPorts {
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly appender?: StreamAppender;
}

export interface CheckedOptions {
  readonly streamPrefix: StreamPrefix;
  readonly consumerGroup: ConsumerGroup;
  readonly maxInFlight: number;
  readonly publishTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly trimToApproximately: number | null;
  readonly routingWaitMs: number;
}

const DEFAULT_MAX_IN_FLIGHT = 1_024;
const DEFAULT_PUBLISH_TIMEOUT_MS = 5_000;
const STALLS_PER_PUBLISH = 3;

/** Throws InvalidOptionsError with every fault. */
export function checkOptions(options: StreamPublisherOptions): CheckedOptions {
  const faults: string[] = [];
  const within = (name: string, value: number, min: number, max: number): number => {
    const isWithin = Number.isInteger(value) && value >= min && value <= max;
    if (!isWithin) faults.push(`${name} is ${value}; it must be an integer from ${min} to ${max}`);
    return value;
  };
  const streamPrefix = parseStreamPrefix(options.streamPrefix);
  const consumerGroup = parseConsumerGroup(options.consumerGroup);
  if (streamPrefix === null) faults.push('streamPrefix must be 1 to 200 of A-Z a-z 0-9 _ . : -');
  if (consumerGroup === null) faults.push('consumerGroup must be 1 to 128 of A-Z a-z 0-9 _ . -');
  if (options.coordinatorUrl === undefined && options.coordinator === undefined) {
    faults.push('coordinatorUrl is missing');
  }
  const { publishTimeoutMs = DEFAULT_PUBLISH_TIMEOUT_MS, dangerouslyTrimToApproximately: trim } = options;
  const stallTimeoutMs =
    options.stallTimeoutMs ?? Math.max(5, Math.floor(publishTimeoutMs / STALLS_PER_PUBLISH));
  const numbers = {
    maxInFlight: within('maxInFlight', options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT, 1, 65_536),
    publishTimeoutMs: within('publishTimeoutMs', publishTimeoutMs, 10, 600_000),
    stallTimeoutMs: within('stallTimeoutMs', stallTimeoutMs, 5, publishTimeoutMs - 1),
    trimToApproximately:
      trim === undefined ? null : within('dangerouslyTrimToApproximately', trim, 1, Number.MAX_SAFE_INTEGER),
    routingWaitMs: within('routingWaitMs', options.routingWaitMs ?? 0, 0, 60_000),
  };
  if (faults.length > 0 || streamPrefix === null || consumerGroup === null) {
    throw new InvalidOptionsError('StreamPublisher', faults);
  }
  return { streamPrefix, consumerGroup, ...numbers };
}
