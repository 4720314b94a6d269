import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { LoopView } from '../critical-section/loop-view';
import { ShutdownGate } from '../critical-section/shutdown-gate';
import type { HealthStatusName, HealthView } from '../protocol';
import { HealthViewDto } from './health-view.dto';
import { PermissionProbe } from './permission-probe';
import { type ProbeOutcome, RedisProbe } from './redis-probe';

/** GET /coord/v1/monitoring/health: the same for people, with more detail; always 200. */
@ApiTags('monitoring')
@Controller('coord/v1/monitoring')
export class HealthViewController {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly redis: RedisProbe,
    private readonly permissions: PermissionProbe,
    private readonly loopView: LoopView,
    private readonly gate: ShutdownGate,
  ) {}

  @Get('health')
  @ApiOperation({ summary: 'How this coordinator is doing' })
  @ApiOkResponse({ type: HealthViewDto })
  async healthView(): Promise<HealthView> {
    const outcome = await this.redis.probe();
    const missingCommands = outcome.isReady ? await this.permissions.missingCommands() : [];
    const { lastPassMs, quiet, hasConnectionErrorSincePass } = this.loopView;
    const isLoopBlind = lastPassMs === null || hasConnectionErrorSincePass;
    return {
      status: this.status(outcome, missingCommands, isLoopBlind),
      coordinatorId: this.options.coordinatorId,
      redis: { isReady: outcome.isReady, fault: outcome.isReady ? null : outcome.fault, missingCommands },
      loop: { lastPassMs, quietUntilMs: quiet?.untilMs ?? null },
    };
  }

  private status(outcome: ProbeOutcome, missing: readonly string[], isLoopBlind: boolean): HealthStatusName {
    if (!outcome.isReady || this.gate.isClosed) return 'DOWN';
    return missing.length > 0 || isLoopBlind ? 'DEGRADED' : 'UP';
  }
}
