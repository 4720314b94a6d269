import { type DynamicModule, Global, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { StreamPublisher } from '../client';
import { ListenerExplorer } from './listener-explorer';
import {
  getPublisherToken,
  type PublisherFeatureOptions,
  REDIS_STREAM_OPTIONS,
  type RedisStreamModuleAsyncOptions,
  type RedisStreamModuleOptions,
} from './redis-stream-options';
import { StreamRuntime } from './stream-runtime';

/** The SDK in a Nest application: `forRoot` once, `forPublisher` where a publisher is injected, `@StreamListener` anywhere. */
@Global()
@Module({})
export class RedisStreamModule {
  static forRoot(options: RedisStreamModuleOptions): DynamicModule {
    return rootModule([], { provide: REDIS_STREAM_OPTIONS, useValue: options });
  }

  static forRootAsync({
    imports = [],
    inject = [],
    useFactory,
  }: RedisStreamModuleAsyncOptions): DynamicModule {
    return rootModule(imports, { provide: REDIS_STREAM_OPTIONS, inject, useFactory });
  }

  /** Makes a publisher injectable in the importing module, by `@InjectPublisher(...)`, or as StreamPublisher if it is the only one. */
  static forPublisher(options: PublisherFeatureOptions): DynamicModule {
    const token = getPublisherToken(options.streamPrefix, options.consumerGroup);
    return {
      module: PublisherModule,
      providers: [
        {
          provide: token,
          inject: [StreamRuntime],
          useFactory: (runtime: StreamRuntime) => runtime.createPublisher(options),
        },
        { provide: StreamPublisher, useExisting: token },
      ],
      exports: [token, StreamPublisher],
    };
  }
}

@Module({})
export class PublisherModule {}

function rootModule(
  imports: NonNullable<DynamicModule['imports']>,
  optionsProvider: Provider,
): DynamicModule {
  return {
    module: RedisStreamModule,
    imports: [DiscoveryModule, ...imports],
    providers: [optionsProvider, ListenerExplorer, StreamRuntime],
    exports: [StreamRuntime],
  };
}
