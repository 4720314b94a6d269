import { RedisModule } from '@liaoliaots/nestjs-redis';
import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type ModuleMetadata,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { RedisClientOptions } from './client-options';
import { RedisConnections } from './redis-connections';
import { REDIS_OPTIONS, type RedisOptions } from './redis-options';

export interface RedisOptionsSource extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  readonly useFactory: (...injected: never[]) => RedisOptions | Promise<RedisOptions>;
}

/** Holds REDIS_OPTIONS, so that both the driver's module and ours see it. */
@Module({})
class RedisOptionsModule {}

/** Wires the Redis connections; the application says where the options come from. */
@Module({})
export class RedisConnectionsModule {
  static forRootAsync(source: RedisOptionsSource): DynamicModule {
    const options: DynamicModule = {
      module: RedisOptionsModule,
      imports: source.imports ?? [],
      providers: [{ provide: REDIS_OPTIONS, inject: source.inject ?? [], useFactory: source.useFactory }],
      exports: [REDIS_OPTIONS],
    };
    return {
      module: RedisConnectionsModule,
      imports: [
        options,
        RedisModule.forRootAsync({ imports: [options], useClass: RedisClientOptions }, false),
      ],
      providers: [RedisConnections],
      exports: [RedisConnections, options],
    };
  }
}
