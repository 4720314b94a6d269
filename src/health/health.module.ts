import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller';
import { HealthViewController } from './health-view.controller';
import { PermissionProbe } from './permission-probe';
import { RedisProbe } from './redis-probe';

@Module({
  // Its logger would write a line for each probe of an outage.
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController, HealthViewController],
  providers: [RedisProbe, PermissionProbe],
})
export class HealthModule {}
