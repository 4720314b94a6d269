import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { CommandProbe } from '../redis/command-probe';
import { RedisConnections } from '../redis/redis-connections';
import { RedisConnectionsModule, type RedisOptionsSource } from '../redis/redis-connections.module';
import { REDIS_OPTIONS, type RedisOptions } from '../redis/redis-options';
import { CoordinatorKeys } from './redis/coordinator-keys';
import { RedisGroupIndex, RedisLoopStore } from './redis/redis-group-index';
import { RedisMetadataStore } from './redis/redis-metadata-store';
import { RedisNoticeBus } from './redis/redis-notice-bus';
import { RedisStreamProvisioner } from './redis/redis-stream-provisioner';
import { RedisStreamRegistry } from './redis/redis-stream-registry';
import {
  GROUP_INDEX,
  LOOP_STORE,
  METADATA_STORE,
  NOTICE_BUS,
  STREAM_PROVISIONER,
  STREAM_REGISTRY,
} from './store.tokens';

function bound<Port>(
  provide: symbol,
  make: (connections: RedisConnections, keys: CoordinatorKeys) => Port,
): Provider<Port> {
  return { provide, inject: [RedisConnections, CoordinatorKeys], useFactory: make };
}

/** Binds the ports of the store to Redis. */
@Module({})
export class StoreModule {
  static forRootAsync(redisOptions: RedisOptionsSource): DynamicModule {
    return {
      module: StoreModule,
      global: true,
      imports: [RedisConnectionsModule.forRootAsync(redisOptions)],
      providers: [
        {
          provide: CoordinatorKeys,
          inject: [REDIS_OPTIONS],
          useFactory: (options: RedisOptions) => new CoordinatorKeys(options.keyPrefix),
        },
        {
          provide: CommandProbe,
          inject: [RedisConnections, REDIS_OPTIONS],
          useFactory: ({ commands }: RedisConnections, options: RedisOptions) =>
            new CommandProbe(commands, options.keyPrefix),
        },
        bound(
          METADATA_STORE,
          ({ lua, commands, identity }, keys) => new RedisMetadataStore(lua, commands, keys, identity),
        ),
        bound(GROUP_INDEX, ({ lua, commands }, keys) => new RedisGroupIndex(lua, commands, keys)),
        bound(
          LOOP_STORE,
          ({ lua, commands, identity }, keys) => new RedisLoopStore(lua, commands, keys, identity),
        ),
        bound(STREAM_REGISTRY, ({ lua, commands }, keys) => new RedisStreamRegistry(lua, commands, keys)),
        bound(STREAM_PROVISIONER, ({ commands }) => new RedisStreamProvisioner(commands)),
        bound(NOTICE_BUS, ({ notices }, keys) => new RedisNoticeBus(notices, keys)),
      ],
      exports: [
        METADATA_STORE,
        GROUP_INDEX,
        LOOP_STORE,
        STREAM_REGISTRY,
        STREAM_PROVISIONER,
        NOTICE_BUS,
        CommandProbe,
        RedisConnectionsModule,
      ],
    };
  }
}
