import type { TimedFault } from './faults';
import type { SimulatedMember } from './member';
import { TIMING } from './timing';
import type { World } from './world';
import { BaseMember } from './base-member';

/** Long against a tick, short against a lease; and long enough for a lease to end meanwhile. Milliseconds. */
const SHORT_PAUSE_MS = { low: 100, high: 2_500 } as const;
const LONG_PAUSE_MS = { low: 3_000, high: 9_000 } as const;
/** Above what counts as drift of a clock (docs/protocol.md, quiet period), slow calls included. */
const CLOCK_JUMP_MS = { low: 1_100, high: 8_000 } as const;
const MAX_MEMBERS = 5;

/** What each fault does to the world. @returns false when there was nothing to do it to. */
export const TIMED_FAULT_EFFECTS: Readonly<Record<TimedFault, (world: World) => boolean>> = {
  REDIS_OUTAGE: (world) => redisAway(world, 100, 5_000, () => undefined),
  REDIS_RESTART: (world) => redisAway(world, 50, 2_000, () => world.redis.changeIdentity()),
  REDIS_ROLLBACK: (world) => rollBack(world, () => world.redis.changeIdentity()),
  // The same server with an older state: nothing but the versions of clients betrays it.
  REDIS_ROLLBACK_UNSEEN: (world) => rollBack(world, () => world.judge.suspendGuarantee()),
  REDIS_SLOW: ({ redis, random, scheduler }) => {
    redis.slowUntilMs = scheduler.nowMs + random.between(200, 4_000);
    return true;
  },
  REDIS_CLOCK_FORWARD: (world) => jumpClock(world, 1),
  REDIS_CLOCK_BACK: (world) => jumpClock(world, -1),
  METADATA_DELETED: (world) => {
    if (!world.hasGroup()) return false;
    world.deleteMetadata();
    return true;
  },
  GROUP_DELETED: (world) => {
    if (!world.hasGroup()) return false;
    world.askToDelete();
    return true;
  },
  COORDINATOR_CRASH: (world) => {
    const address = world.random.below(world.network.coordinators.length);
    const coordinator = world.network.coordinators[address];
    if (coordinator?.process.isAlive !== true) return false;
    coordinator.process.crash();
    world.startCoordinatorLater(address, world.random.between(50, 4_000));
    return true;
  },
  COORDINATOR_PAUSE: (world) => {
    const coordinator = world.random.pick(world.network.coordinators);
    if (coordinator?.process.isAlive !== true) return false;
    const { low, high } = world.random.chance(0.5) ? SHORT_PAUSE_MS : LONG_PAUSE_MS;
    coordinator.process.resumesAtMs = world.scheduler.nowMs + world.random.between(low, high);
    return true;
  },
  COORDINATOR_REPLACED: (world) => {
    const address = world.random.below(world.network.coordinators.length);
    if (world.network.coordinators[address]?.process.isAlive !== true) return false;
    world.replaceCoordinator(address);
    return true;
  },
  MEMBER_CRASH_SAME_ID: (world) =>
    withMember(world, (member) => {
      member.process.crash();
      restartLater(world, member.memberId);
    }),
  MEMBER_CRASH_OTHER_ID: (world) =>
    withMember(world, (member) => {
      member.process.crash();
      restartLater(world, world.newMemberId());
    }),
  // A second process with the id of one that still runs: a deployment that is wrong, or a pause taken for a crash.
  MEMBER_TWIN: (world) =>
    withMember(world, (member) => {
      const { random, scheduler } = world;
      if (random.chance(0.5)) {
        const { low, high } = random.chance(0.5) ? SHORT_PAUSE_MS : LONG_PAUSE_MS;
        member.process.resumesAtMs = scheduler.nowMs + random.between(low, high);
      }
      const twin = world.startMember(member.memberId);
      const [first, second] = random.chance(0.5) ? [member, twin] : [twin, member];
      scheduler.after(random.between(500, 6_000), null, () => first.process.crash());
      world.trace.add('world', `${first.name} is to end, ${second.name} to stay`);
    }),
  MEMBER_PAUSE_SHORT: (world) => pauseMember(world, SHORT_PAUSE_MS),
  MEMBER_PAUSE_LONG: (world) => pauseMember(world, LONG_PAUSE_MS),
  MEMBER_STOPPED: (world) =>
    withMember(world, (member) => {
      world.stopMember(member);
      restartLater(world, world.random.chance(0.5) ? member.memberId : world.newMemberId());
    }),
  MEMBER_FENCED: (world) =>
    withMember(world, (member) => {
      world.askToFence(member.memberId);
    }),
  MEMBER_JOINS: (world) => {
    if (world.runningMembers().length >= MAX_MEMBERS) return false;
    world.startMember(world.newMemberId());
    return true;
  },
  CAPACITY_CHANGED: (world) => {
    const base = world.runningMembers().filter((member) => member instanceof BaseMember);
    if (base.length === 0) return false;
    const member = world.random.pick(base);
    member.maxConcurrency = member.maxConcurrency === 0 ? 1 : 0;
    return true;
  },
};

function withMember(world: World, act: (member: SimulatedMember) => void): boolean {
  const members = world.runningMembers();
  if (members.length === 0) return false;
  act(world.random.pick(members));
  return true;
}

function pauseMember(world: World, range: { readonly low: number; readonly high: number }): boolean {
  return withMember(world, ({ process }) => {
    process.resumesAtMs = world.scheduler.nowMs + world.random.between(range.low, range.high);
    if (world.trace.isOn) world.trace.add(process.name, `paused until ${process.resumesAtMs}`);
  });
}

function restartLater(world: World, memberId: string): void {
  world.scheduler.after(world.random.between(10, TIMING.memberLeaseTtlMs * 1.5), null, () => {
    const running = world.runningMembers();
    const hasTwin = running.some((member) => member.memberId === memberId);
    if (running.length < MAX_MEMBERS && (world.plan.isOn || !hasTwin)) world.startMember(memberId);
  });
}

function rollBack(world: World, then: () => void): boolean {
  if (!isClockAhead(world)) return false;
  return redisAway(world, 0, 1_500, () => {
    if (!isClockAhead(world)) return; // it was set back meanwhile
    const lost = world.redis.rollBack();
    world.judge.writes.forgotten();
    then();
    world.trace.add('redis', `rolled back by ${lost} writes, now ${world.redis.node.redisId}`);
  });
}

/** What docs/protocol.md assumes of clocks after a failover: they are ahead of every number that was drawn before. */
function isClockAhead({ redis, judge }: World): boolean {
  return redis.clockMs() > judge.writes.largestDrawn;
}

function redisAway(world: World, lowMs: number, highMs: number, whenAway: () => void): boolean {
  const { redis, random, scheduler } = world;
  if (!redis.isUp) return false;
  redis.goDown();
  scheduler.after(random.between(lowMs, highMs), null, () => {
    whenAway();
    redis.comeBack();
  });
  return true;
}

function jumpClock(world: World, sign: 1 | -1): boolean {
  const byMs = sign * Math.ceil(world.random.between(CLOCK_JUMP_MS.low, CLOCK_JUMP_MS.high));
  // The same assumption, from the other side: the clock is not set back behind numbers that Redis has forgotten.
  if (world.redis.clockMs() + byMs <= world.judge.writes.largestForgotten) return false;
  world.redis.jumpClock(byMs);
  return true;
}
