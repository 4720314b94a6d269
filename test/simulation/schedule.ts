import type { FaultKind } from './faults';
import { whatIsMissing } from './final-state';
import type { Violation } from './judge';
import { TIMING } from './timing';
import { World } from './world';
import type { WorldOptions } from './world';

/** Length of the part with faults. Milliseconds of virtual time. */
const FAULTS_MS = { low: 15_000, high: 50_000 } as const;
const CHECK_EVERY_MS = 500;
/** The final state has to hold for so long, so that it is no passing one. */
const STABLE_FOR_MS = 1_500;
/**
 * Once faults have ended: a quiet period, the expiry of the dead, a round at its longest (two leases and a rebalance timeout),
 * a drain to its deadline, the block that follows it, and the time in which the clock catches up.
 */
const SETTLE_WITHIN_MS = 8 * TIMING.memberLeaseTtlMs + 3 * TIMING.rebalanceTimeoutMs;

export interface ScheduleOutcome {
  readonly seed: number;
  readonly steps: number;
  readonly checks: number;
  readonly virtualMs: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly coverage: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  /** Empty unless it was kept. */
  readonly trace: readonly string[];
  readonly traceHash: string | null;
}

/** Runs the schedule of a seed to its end, or to its first violation. */
export async function runSchedule(options: WorldOptions): Promise<ScheduleOutcome> {
  const world = new World(options);
  const { scheduler, judge, trace } = world;
  const afterEach = (): boolean => {
    judge.checkUsers();
    return judge.violations.length === 0;
  };
  await scheduler.run(world.random.between(FAULTS_MS.low, FAULTS_MS.high), afterEach);
  if (judge.violations.length === 0) await comeToRest(world, afterEach);
  return {
    seed: options.seed,
    steps: scheduler.steps,
    checks: judge.checks + judge.writes.checks,
    virtualMs: scheduler.nowMs,
    faults: world.plan.counts,
    coverage: judge.coverage.counts,
    violations: judge.violations,
    trace: trace.lines,
    traceHash: options.keepsTrace ? trace.hash() : null,
  };
}

async function comeToRest(world: World, afterEach: () => boolean): Promise<void> {
  const { scheduler, judge } = world;
  world.endFaults();
  // A clock that was set back has to pass the time of the last write before leases run again.
  const { metadata } = judge.recordedGroup();
  const latestMs = Math.max(metadata?.updatedAtMs ?? 0, judge.writes.largestDrawn);
  const behindMs = Math.max(0, latestMs - world.redis.clockMs());
  const deadlineMs = scheduler.nowMs + SETTLE_WITHIN_MS + behindMs;
  let fineSinceMs: number | null = null;
  while (scheduler.nowMs < deadlineMs) {
    await scheduler.run(scheduler.nowMs + CHECK_EVERY_MS, afterEach);
    if (judge.violations.length > 0) return;
    fineSinceMs = whatIsMissing(world).length > 0 ? null : (fineSinceMs ?? scheduler.nowMs);
    if (fineSinceMs !== null && scheduler.nowMs - fineSinceMs >= STABLE_FOR_MS) return;
  }
  judge.violated('CONVERGES', whatIsMissing(world).join('; '));
}
