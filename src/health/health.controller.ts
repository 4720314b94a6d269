import { Controller, Get, HttpStatus, Res, ServiceUnavailableException } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { type HealthCheckResult, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { ShutdownGate } from '../critical-section/shutdown-gate';
import { PermissionProbe } from './permission-probe';
import { RedisProbe } from './redis-probe';

const SHAPE = {
  type: 'object' as const,
  properties: {
    status: { type: 'string', enum: ['ok', 'error', 'shutting_down'] },
    info: { type: 'object', additionalProperties: true },
    error: { type: 'object', additionalProperties: true },
    details: { type: 'object', additionalProperties: true },
  },
};
const UP = { redis: { status: 'up' }, lifecycle: { status: 'up' } };
const DOWN = { redis: { status: 'down', fault: 'READ_ONLY' } };

/** For orchestrators and load balancers. Liveness is about this process only; readiness asks Redis to take a write. */
@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly redis: RedisProbe,
    private readonly permissions: PermissionProbe,
    private readonly gate: ShutdownGate,
  ) {}

  @Get('live')
  @ApiOperation({
    summary: 'Whether this process runs',
    description:
      'Never fails because Redis is away or this coordinator terminates: killing it would not help.',
  })
  @ApiResponse({
    status: 200,
    schema: { ...SHAPE, example: { status: 'ok', info: {}, error: {}, details: {} } },
  })
  live(): Promise<HealthCheckResult> {
    return this.check([]);
  }

  @Get('ready')
  @ApiOperation({
    summary: 'Whether this coordinator should be asked',
    description:
      'Writes a key to Redis and reads it back, within a deadline, and asks whether the ACL permits every command that is needed.',
  })
  @ApiResponse({
    status: 200,
    schema: { ...SHAPE, example: { status: 'ok', info: UP, error: {}, details: UP } },
  })
  @ApiResponse({
    status: 503,
    schema: { ...SHAPE, example: { status: 'error', info: {}, error: DOWN, details: DOWN } },
  })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<HealthCheckResult> {
    const result = await this.check([() => this.lifecycle(), () => this.redisTakesWrites()]);
    void reply.status(result.status === 'ok' ? HttpStatus.OK : HttpStatus.SERVICE_UNAVAILABLE);
    return result;
  }

  /** Terminus throws what is not up; here the result decides. */
  private async check(indicators: Parameters<HealthCheckService['check']>[0]): Promise<HealthCheckResult> {
    try {
      return await this.health.check(indicators);
    } catch (error) {
      if (error instanceof ServiceUnavailableException) return error.getResponse() as HealthCheckResult;
      throw error;
    }
  }

  private lifecycle() {
    const indicator = this.indicators.check('lifecycle');
    return this.gate.isClosed ? indicator.down({ reason: 'terminating' }) : indicator.up();
  }

  private async redisTakesWrites() {
    const indicator = this.indicators.check('redis');
    if (this.gate.isClosed) return indicator.down({ fault: 'NOT_ASKED' });
    const [outcome, missing] = await Promise.all([this.redis.probe(), this.permissions.missingForWork()]);
    if (!outcome.isReady) return indicator.down({ fault: outcome.fault });
    if (missing.length > 0) return indicator.down({ fault: 'NOT_PERMITTED', missingCommands: missing });
    return indicator.up();
  }
}
