import type { Server } from 'node:net';
import { Global, Module, type Provider, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { FaultLog } from '../http/fault-log';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import type { GroupIndex } from '../store/group-index';
import type { MetadataStore } from '../store/metadata-store';
import type { NoticeBus } from '../store/notice-bus';
import { GROUP_INDEX, METADATA_STORE, NOTICE_BUS, STREAM_PROVISIONER } from '../store/store.tokens';
import type { StreamProvisioner } from '../store/stream-provisioner';
import { ClockGuard } from './clock-guard';
import { ConfirmedGroups } from './confirmed-groups';
import { CriticalSection } from './critical-section';
import { CriticalSectionInterceptor } from './critical-section.interceptor';
import { EffectRunner } from './effects';
import { GroupWatch } from './group-watch';
import { LateRequests } from './late-requests';
import { LoopView } from './loop-view';
import { assembleSection, type SectionAssembly } from './section-assembly';
import { SectionDoor } from './section-door';
import { sectionOptions } from './section-options';
import { SectionTermination, type TerminationBounds } from './section-termination';
import { ShutdownGate } from './shutdown-gate';
import { TerminationHook } from './termination-hook';

/** Everything that one process' critical section shares. */
export const SECTION_ASSEMBLY = Symbol('SECTION_ASSEMBLY');

/** The rest of the grace period is for answering, closing connections and exiting. */
const SECTIONS_SHARE_OF_GRACE = 0.7;
/** How long clients may take to let go of their connections, and how long they have to stay away then. */
const LATE_REQUESTS_SHARE_OF_GRACE = 0.1;
const MAX_LATE_REQUESTS_MS = 1_000;
const LULL_MS = 100;

function terminationBounds(graceMs: number): TerminationBounds {
  const atMostMs = Math.min(graceMs * LATE_REQUESTS_SHARE_OF_GRACE, MAX_LATE_REQUESTS_MS);
  return {
    sectionsMs: graceMs * SECTIONS_SHARE_OF_GRACE,
    lull: { lullMs: Math.min(LULL_MS, atMostMs), atMostMs },
  };
}

/** Of the listener; none when that is not known. */
function openConnections(host: HttpAdapterHost): Promise<number> {
  const server = host.httpAdapter.getHttpServer() as Server;
  return new Promise((resolve) =>
    server.getConnections((error, count) => resolve(error === null ? count : 0)),
  );
}

function part<Part>(provide: Type<Part>, pick: (assembly: SectionAssembly) => Part): Provider<Part> {
  return { provide, inject: [SECTION_ASSEMBLY], useFactory: pick };
}

const parts: readonly Provider[] = [
  part(CriticalSection, ({ section }) => section),
  part(ShutdownGate, ({ gate }) => gate),
  part(ConfirmedGroups, ({ confirmed }) => confirmed),
  part(GroupWatch, ({ watch }) => watch),
  part(LoopView, ({ loopView }) => loopView),
  part(ClockGuard, ({ clockGuard }) => clockGuard),
];

/** Binds the critical section to the store. Controllers use its interceptor. */
@Global()
@Module({
  providers: [
    {
      provide: SECTION_ASSEMBLY,
      inject: [METADATA_STORE, GROUP_INDEX, NOTICE_BUS, COORDINATOR_OPTIONS, CoordinatorMetrics],
      useFactory: (
        store: MetadataStore,
        index: GroupIndex,
        notices: NoticeBus,
        { timing, maxMembers, limits }: CoordinatorOptions,
        metrics: CoordinatorMetrics,
      ): SectionAssembly => {
        const options = sectionOptions({ timing, maxMembers, sectionBudgetMs: limits.sectionBudgetMs });
        return assembleSection({ store, index, notices, options, metrics });
      },
    },
    ...parts,
    {
      provide: EffectRunner,
      inject: [CriticalSection, STREAM_PROVISIONER, FaultLog, CoordinatorMetrics],
      useFactory: (
        section: CriticalSection,
        provisioner: StreamProvisioner,
        faults: FaultLog,
        metrics: CoordinatorMetrics,
      ) => new EffectRunner({ section, provisioner, faults, metrics }),
    },
    {
      provide: SectionTermination,
      inject: [CriticalSection, CoordinatorMetrics, LateRequests, COORDINATOR_OPTIONS],
      useFactory: (
        section: CriticalSection,
        metrics: CoordinatorMetrics,
        lateRequests: LateRequests,
        { shutdownGraceMs }: CoordinatorOptions,
      ) => new SectionTermination(section, metrics, lateRequests, terminationBounds(shutdownGraceMs)),
    },
    {
      provide: LateRequests,
      inject: [SECTION_ASSEMBLY, HttpAdapterHost],
      useFactory: ({ clock }: SectionAssembly, host: HttpAdapterHost) =>
        new LateRequests(clock, () => openConnections(host)),
    },
    TerminationHook,
    SectionDoor,
    CriticalSectionInterceptor,
  ],
  exports: [
    SECTION_ASSEMBLY,
    CriticalSection,
    ShutdownGate,
    ConfirmedGroups,
    GroupWatch,
    LoopView,
    ClockGuard,
    EffectRunner,
    SectionDoor,
    CriticalSectionInterceptor,
  ],
})
export class CriticalSectionModule {}
