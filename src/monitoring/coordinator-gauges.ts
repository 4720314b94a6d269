import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ClockGuard } from '../critical-section/clock-guard';
import { LoopView, tenureRules } from '../critical-section/loop-view';
import type { EpochMillis } from '../domain/time';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import { RedisConnections } from '../redis/redis-connections';

/** A group that existed before whatever happened: quiet periods concern it. */
const ANY_OLD_GROUP_MS = 0 as EpochMillis;

/** Sets the gauges of this coordinator itself whenever metrics are asked for: they change by time alone. */
@Injectable()
export class CoordinatorGauges implements OnModuleInit {
  constructor(
    private readonly metrics: CoordinatorMetrics,
    private readonly loopView: LoopView,
    private readonly clockGuard: ClockGuard,
    private readonly connections: RedisConnections,
  ) {}

  onModuleInit(): void {
    this.metrics.onScrape(() => this.refresh());
  }

  private refresh(): void {
    const { lastPassMs, quiet, localQuiet } = this.loopView;
    const nowMs = this.clockGuard.estimateMs();
    const untilMs = Math.max(quiet?.untilMs ?? 0, localQuiet?.untilMs ?? 0);
    this.metrics.standing({
      isRedisConnected: this.connections.isConnected,
      lastPassAgeMs: nowMs === null || lastPassMs === null ? null : Math.max(0, nowMs - lastPassMs),
      quietRemainingMs: nowMs === null || untilMs <= nowMs ? null : untilMs - nowMs,
      mayGrant: nowMs !== null && tenureRules(this.loopView, ANY_OLD_GROUP_MS, nowMs).mayGrant,
    });
  }
}
