import {
  Inject,
  type InjectionToken,
  type ModuleMetadata,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import type { RedisSource, StreamConsumerOptions, StreamPublisherOptions, VersionStore } from '../client';
import type { StreamTransport } from './stream-transport';

/** What all listeners and publishers of an application share. */
export interface RedisStreamModuleOptions {
  /** `http://host:8080`, or several coordinators of one Redis. One client is shared by all listeners and publishers. */
  readonly coordinatorUrl: string | readonly string[];
  readonly redis: RedisSource;
  /** A prom-client Registry for the metrics `redis_stream_client_*`. */
  readonly metricsRegistry?: NonNullable<StreamConsumerOptions['metricsRegistry']>;
  /** Keeps what was seen of metadata versions over restarts, for all listeners and publishers. Default: none. */
  readonly versionStore?: VersionStore;
  /** False: listeners and publishers are made, and the application starts them itself. Default true. */
  readonly autoStart?: boolean;
  /** Instead of the SDK, for tests. */
  readonly transport?: StreamTransport;
}

export interface RedisStreamModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  readonly useFactory: (
    ...dependencies: never[]
  ) => RedisStreamModuleOptions | Promise<RedisStreamModuleOptions>;
}

/** Options of a publisher that the module does not set itself. */
export type PublisherFeatureOptions = Omit<
  StreamPublisherOptions,
  'redis' | 'coordinator' | 'coordinatorUrl' | 'metricsRegistry' | 'versionStore'
>;

export const REDIS_STREAM_OPTIONS = Symbol('redis-stream-coordinator:options');

/** The token of the publisher of a stream, for `@Inject` and for replacing it in tests. */
export function getPublisherToken(streamPrefix: string, consumerGroup: string): string {
  return `redis-stream-coordinator:publisher:${streamPrefix}:${consumerGroup}`;
}

/** Injects the publisher that `RedisStreamModule.forPublisher` made for the stream. */
export function InjectPublisher(
  streamPrefix: string,
  consumerGroup: string,
): ParameterDecorator & PropertyDecorator {
  return Inject(getPublisherToken(streamPrefix, consumerGroup));
}
