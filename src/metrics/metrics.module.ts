import { Global, Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { register } from 'prom-client';
import { CoordinatorMetrics } from './coordinator-metrics';
import { MetricsController } from './metrics.controller';

/** A process collects its own metrics (memory, event loop lag) once, however many applications run in it. */
const isCollectingDefaults = register.getSingleMetric('process_cpu_seconds_total') !== undefined;

@Global()
@Module({
  imports: [
    PrometheusModule.register({
      path: '/metrics',
      controller: MetricsController,
      defaultMetrics: { enabled: !isCollectingDefaults },
    }),
  ],
  providers: [CoordinatorMetrics],
  exports: [CoordinatorMetrics],
})
export class MetricsModule {}
