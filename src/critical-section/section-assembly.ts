import { nextDueMs } from '../domain/group/due-time';
import { findViolations } from '../domain/group/invariants';
import type { GroupIndex } from '../store/group-index';
import type { MetadataStore } from '../store/metadata-store';
import type { NoticeBus } from '../store/notice-bus';
import type { GroupRules } from './batch-decision';
import { ClockGuard } from './clock-guard';
import { ConfirmedGroups } from './confirmed-groups';
import { CriticalSection } from './critical-section';
import { DecisionContexts } from './decision-contexts';
import { GroupWatch } from './group-watch';
import { LeaseFastPath } from './lease-fast-path';
import { LocalMutex } from './local-mutex';
import { LoopView } from './loop-view';
import { ObservedStore, observedIndex } from './observed-store';
import type { PendingCommand } from './pending-command';
import { RedisLock } from './redis-lock';
import { systemClock, systemRandom } from './runtime-ports';
import type { Clock, Random } from './runtime-ports';
import { NO_SECTION_METRICS } from './section-metrics';
import type { SectionMetrics } from './section-metrics';
import type { SectionOptions } from './section-options';
import { SectionRunner } from './section-runner';
import { ShutdownGate } from './shutdown-gate';

export const DOMAIN_RULES: GroupRules = { findViolations, nextDueMs };

export interface AssemblyParts {
  readonly store: MetadataStore;
  readonly index: GroupIndex;
  readonly notices: NoticeBus;
  readonly options: SectionOptions;
  readonly metrics?: SectionMetrics;
  readonly rules?: GroupRules;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** The critical section of one coordinator with everything that shares its state. */
export interface SectionAssembly {
  readonly section: CriticalSection;
  readonly gate: ShutdownGate;
  readonly confirmed: ConfirmedGroups;
  readonly watch: GroupWatch;
  readonly loopView: LoopView;
  readonly clockGuard: ClockGuard;
  /** Observes the Redis clock and lost connections with each call; for reads outside of sections too. */
  readonly store: MetadataStore;
  readonly clock: Clock;
}

/** Puts one coordinator's critical section together. One per process: it is what makes its queue the only one. */
export function assembleSection(parts: AssemblyParts): SectionAssembly {
  const { options, notices } = parts;
  const clock = parts.clock ?? systemClock;
  const random = parts.random ?? systemRandom;
  const metrics = parts.metrics ?? NO_SECTION_METRICS;
  const loopView = new LoopView(options.timing);
  const clockGuard = new ClockGuard(clock, (jump) => loopView.recordClockJump(jump));
  const observers = { clock, clockGuard, loopView };
  const store = new ObservedStore(parts.store, observers);
  const index = observedIndex(parts.index, observers);
  const gate = new ShutdownGate(clock);
  const confirmed = new ConfirmedGroups();
  const contexts = new DecisionContexts(options.timing, options.maxMembers, loopView, clockGuard);
  const lock = new RedisLock(store, gate, options, clock, random, metrics);
  const { maxWatchers } = options;
  const watch = new GroupWatch({ store, confirmed, notices, gate, clock, maxWatchers, metrics });
  const shared = { store, gate, confirmed, contexts, clock, metrics };
  const rules = parts.rules ?? DOMAIN_RULES;
  const runner = new SectionRunner({ ...shared, index, lock, watch, rules, options, random });
  const mutex = new LocalMutex<PendingCommand>(options, clock, (key, turn) => runner.run(key, turn));
  const fastPath = new LeaseFastPath({
    ...shared,
    clockGuard,
    leaseTtlMs: options.timing.memberLeaseTtlMs,
    maxBatch: options.maxBatch,
    maxQueuedPerGroup: options.maxQueuedPerGroup,
    gatherMs: options.gatherMs,
    fallBack: (key, pending) => section.runInSection(key, pending),
  });
  const section = new CriticalSection({ gate, mutex, fastPath, metrics });
  return { section, gate, confirmed, watch, loopView, clockGuard, store, clock };
}
