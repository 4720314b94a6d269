import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { SECTION_ASSEMBLY } from '../critical-section/critical-section.module';
import { EffectRunner } from '../critical-section/effects';
import type { SectionAssembly } from '../critical-section/section-assembly';
import { onTick } from '../domain/coordinator/on-tick';
import { FaultLog } from '../http/fault-log';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import type { GroupIndex, LoopStore } from '../store/group-index';
import { GROUP_INDEX, LOOP_STORE } from '../store/store.tokens';
import { DueGroups } from './due-groups';
import { EventLoop } from './event-loop';
import { EventLoopService } from './event-loop.service';

@Module({
  imports: [ScheduleModule.forRoot()],
  providers: [
    {
      provide: DueGroups,
      inject: [
        SECTION_ASSEMBLY,
        EffectRunner,
        GROUP_INDEX,
        COORDINATOR_OPTIONS,
        FaultLog,
        CoordinatorMetrics,
      ],
      useFactory: (
        { section, confirmed }: SectionAssembly,
        effects: EffectRunner,
        index: GroupIndex,
        { timing }: CoordinatorOptions,
        faults: FaultLog,
        metrics: CoordinatorMetrics,
      ) =>
        new DueGroups({
          ...{ section, effects, index, confirmed, timing, faults, metrics },
          looks: metrics,
          tickCommand: onTick,
        }),
    },
    {
      provide: EventLoop,
      inject: [SECTION_ASSEMBLY, DueGroups, LOOP_STORE, COORDINATOR_OPTIONS, FaultLog, CoordinatorMetrics],
      useFactory: (
        assembly: SectionAssembly,
        dueGroups: DueGroups,
        loopStore: LoopStore,
        { coordinatorId, timing }: CoordinatorOptions,
        faults: FaultLog,
        metrics: CoordinatorMetrics,
      ) => {
        const { gate, loopView, clockGuard, clock } = assembly;
        const parts = { coordinatorId, timing, loopStore, dueGroups, gate, loopView, clockGuard, clock };
        return new EventLoop({ ...parts, faults, metrics });
      },
    },
    EventLoopService,
  ],
  exports: [EventLoop],
})
export class EventLoopModule {}
