import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { ShutdownGate } from '../critical-section/shutdown-gate';
import { EventLoop } from './event-loop';

const INTERVAL_NAME = 'event-loop';

/**
 * Schedules the event loop. The first pass runs before the listener opens (Nest bootstraps before it listens), so that an
 * outage before this start is known when the first heartbeat comes; without Redis the start goes on, and ticks try again.
 */
@Injectable()
export class EventLoopService implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly loop: EventLoop,
    private readonly scheduler: SchedulerRegistry,
    private readonly gate: ShutdownGate,
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.loop.tick();
    if (this.gate.isClosed) return;
    const interval = setInterval(() => {
      // It never rejects; were it to, the process must hear of it.
      this.loop.tick().catch((error: unknown) => {
        throw error;
      });
    }, this.options.timing.tickIntervalMs);
    this.scheduler.addInterval(INTERVAL_NAME, interval);
    this.gate.onClose(() => this.stop());
  }

  onModuleDestroy(): void {
    this.stop();
  }

  private stop(): void {
    if (this.scheduler.doesExist('interval', INTERVAL_NAME)) this.scheduler.deleteInterval(INTERVAL_NAME);
  }
}
