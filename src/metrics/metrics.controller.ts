import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { PrometheusController } from '@willsoto/nestjs-prometheus';
import { CoordinatorMetrics } from './coordinator-metrics';

/** GET /metrics, in Prometheus' text format. */
@ApiExcludeController()
@Controller()
export class MetricsController extends PrometheusController {
  constructor(private readonly metrics: CoordinatorMetrics) {
    super();
  }

  @Get()
  override index(@Res({ passthrough: true }) response: unknown): Promise<string> {
    this.metrics.beforeScrape();
    return super.index(response);
  }
}
