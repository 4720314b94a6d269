import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { AdminModule } from './admin/admin.module';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from './config/coordinator-options';
import { OptionsModule } from './config/options.module';
import { CriticalSectionModule } from './critical-section/critical-section.module';
import { EventLoopModule } from './event-loop/event-loop.module';
import { HealthModule } from './health/health.module';
import { HttpModule } from './http/http.module';
import { MembershipModule } from './membership/membership.module';
import { CoordinatorMetrics } from './metrics/coordinator-metrics';
import { MetricsModule } from './metrics/metrics.module';
import { MonitoringModule } from './monitoring/monitoring.module';
import type { RedisOptions } from './redis/redis-options';
import { RoutingModule } from './routing/routing.module';
import { StoreModule } from './store/store.module';

/** The composition root: binds ports to adapters, nothing else. */
@Module({})
export class AppModule {
  static with(options: CoordinatorOptions): DynamicModule {
    return {
      module: AppModule,
      imports: [
        OptionsModule.with(options),
        MetricsModule,
        HttpModule,
        StoreModule.forRootAsync({
          inject: [COORDINATOR_OPTIONS, CoordinatorMetrics],
          useFactory: redisOptionsOf,
        }),
        CriticalSectionModule,
        EventLoopModule,
        AdminModule,
        MembershipModule,
        RoutingModule,
        MonitoringModule,
        HealthModule,
      ],
    };
  }
}

function redisOptionsOf(
  { redisUrl, coordinatorId, keyPrefix, limits }: CoordinatorOptions,
  metrics: CoordinatorMetrics,
): RedisOptions {
  const logger = new Logger('Redis');
  return {
    url: redisUrl,
    clientName: `coordinator:${coordinatorId}`,
    keyPrefix,
    commandTimeoutMs: limits.redisCommandTimeoutMs,
    connectTimeoutMs: limits.redisCommandTimeoutMs,
    logger: {
      warn: (fields, message) => logger.warn({ message, ...fields }),
      faultSeen: (fault) => metrics.redisFault(fault),
    },
  };
}
