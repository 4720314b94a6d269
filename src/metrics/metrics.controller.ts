import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { PrometheusController } from '@willsoto/nestjs-prometheus';

/** GET /metrics, in Prometheus' text format. */
@ApiExcludeController()
@Controller()
export class MetricsController extends PrometheusController {
  @Get()
  override index(@Res({ passthrough: true }) response: unknown): Promise<string> {
    return super.index(response);
  }
}
