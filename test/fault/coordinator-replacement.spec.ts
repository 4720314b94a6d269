import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import { groupViewFrom, isBalanced, memberStatesFrom } from '../support/coordinator-readings';
import { fixedPort } from '../support/fixed-port';
import { type RedisServer, startRedisServer } from '../support/redis-server';
import { groupKeyOf } from '../support/stored-group';
import { type Attempt, type Beat, longestGapMs, MemberFleet, tenuresLostIn } from './member-fleet';

const GROUPS = 10;
const MEMBERS_PER_GROUP = 100;
const SHARDS = 32;
/** 1,000 members, each every 2 s: 500 heartbeats/s. */
const INTERVAL_MS = 2_000;
const LEASE_MS = 30_000;
const LOCK_TTL_MS = 2_000;
/** How soon after the death of a coordinator every heartbeat is answered, behind its lock's time to live. */
const MARGIN_MS = 500;
/** Far above every promise: how long an answer took is measured, not cut off. */
const REQUEST_TIMEOUT_MS = 15_000;
const GRACE_MS = 6_000;
const SETTLE_MS = 60_000;
/**
 * The machine keeps a rate at which the heartbeats of all members, sent one after the other, take no more than this share of an
 * interval. If it does not keep 500/s the interval is doubled, up to this, which is printed.
 */
const SHARE_OF_INTERVAL = 0.5;
const MAX_INTERVAL_MS = 4_000;
const QUIET_INTERVALS = 2;
const SHOWN = 3;
const ROLLING_ROUNDS = 5;
const LOSS_ROUNDS = 5;
const ENVIRONMENT = {
  COORD_HEARTBEAT_INTERVAL_MS: String(INTERVAL_MS),
  COORD_MEMBER_LEASE_TTL_MS: String(LEASE_MS),
  COORD_REBALANCE_TIMEOUT_MS: String(LEASE_MS),
  COORD_LOCK_TTL_MS: String(LOCK_TTL_MS),
  SHUTDOWN_GRACE_MS: String(GRACE_MS),
};
const keys = Array.from({ length: GROUPS }, (_, index) => groupKeyOf(`orders-${index}`, `workers-${index}`));

describe('coordinators that are replaced under 500 heartbeats/s', () => {
  let redis: RedisServer;
  let ports: readonly number[];
  let current: CoordinatorProcess;
  let fleet: MemberFleet;
  let isOnFirstPort = true;
  let epochs: ReadonlyMap<string, number>;
  let intervalMs = INTERVAL_MS;
  /**
   * The longest that any answer took while nothing happened, or while a coordinator that has just started took over without
   * need: what this machine adds to every promise.
   */
  let machineMs = 0;
  /** How long this process, which measures, had to wait for the processor. */
  const delays = monitorEventLoopDelay({ resolution: 10 });

  const startOn = async (port: number): Promise<CoordinatorProcess> => {
    const coordinator = await startCoordinatorProcess(redis.url, { ...ENVIRONMENT, PORT: String(port) });
    await coordinator.waitForReadiness(200, SETTLE_MS);
    return coordinator;
  };
  const startAnother = (): Promise<CoordinatorProcess> => {
    isOnFirstPort = !isOnFirstPort;
    return startOn(ports[isOnFirstPort ? 0 : 1]!);
  };
  const untilSettled = async (): Promise<void> => {
    const endMs = performance.now() + SETTLE_MS;
    for (let isSettled = false; !isSettled; ) {
      if (performance.now() > endMs) throw new Error(`not settled within ${SETTLE_MS} ms`);
      await fleet.beatAll();
      const views = await Promise.all(keys.map((key) => groupViewFrom(current, key)));
      isSettled = views.every((view) => isBalanced(view, MEMBERS_PER_GROUP));
    }
  };

  beforeAll(async () => {
    redis = await startRedisServer();
    ports = [await fixedPort(), await fixedPort()];
    current = await startOn(ports[0]!);
    for (const key of keys) await current.createGroup(key, SHARDS);
    fleet = new MemberFleet({
      coordinatorUrls: ports.map((port) => `http://127.0.0.1:${port}`),
      groups: keys,
      membersPerGroup: MEMBERS_PER_GROUP,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
    });
    await untilSettled();
    const tookMs = await fleet.beatAll();
    while (tookMs > SHARE_OF_INTERVAL * intervalMs && intervalMs < MAX_INTERVAL_MS) intervalMs *= 2;
    epochs = fleet.epochs;
    fleet.start(intervalMs);
    const fromMs = performance.now();
    await fleet.untilAllServedSince(fromMs + QUIET_INTERVALS * intervalMs);
    machineMs = longestAnswer(fleet.attempts.filter(({ sentMs }) => sentMs >= fromMs));
  });
  afterAll(async () => {
    await fleet.stop();
    await current.stop();
    await redis.stop();
  });

  interface Told {
    readonly attempts: readonly Attempt[];
    readonly beats: readonly Beat[];
    readonly tookMs: number;
  }

  /** What the clients saw of what happens meanwhile. */
  const watch = async (happening: () => Promise<void>): Promise<Told> => {
    const fromMs = performance.now();
    const [attemptsBefore, beatsBefore] = [fleet.attempts.length, fleet.beats.length];
    await happening();
    return {
      attempts: fleet.attempts.slice(attemptsBefore),
      beats: fleet.beats.slice(beatsBefore),
      tookMs: performance.now() - fromMs,
    };
  };

  const expectNothingLost = async ({ attempts, beats }: Told): Promise<void> => {
    const wrong = attempts.filter(({ outcome }) => outcome === 'WRONG' || outcome === 'LATE');
    expect({ count: wrong.length, first: wrong.slice(0, SHOWN) }).toEqual({ count: 0, first: [] });
    expect(tenuresLostIn(attempts)).toEqual([]);
    expect(longestGapMs(beats)).toBeLessThan(LEASE_MS);
    expect(fleet.epochs).toEqual(epochs);
    for (const key of keys) {
      const states = Object.entries(await memberStatesFrom(current, key));
      const members = states.filter(([memberId]) => epochs.has(memberId));
      expect(members).toHaveLength(MEMBERS_PER_GROUP);
      expect(
        members.filter(([id, [state, epoch]]) => state !== 'ACTIVE' || epoch !== epochs.get(id)),
      ).toEqual([]);
    }
  };

  it(`one by one, ${ROLLING_ROUNDS} times (1 -> 2 -> 1, SIGTERM): every request is answered or refused for a retry`, async () => {
    const told = await watch(async () => {
      for (let round = 0; round < ROLLING_ROUNDS; round += 1) {
        const old = current;
        current = await startAnother();
        old.terminate();
        await old.ended(GRACE_MS + SETTLE_MS);
        await fleet.untilAllServedSince(performance.now());
      }
    });
    print(`${ROLLING_ROUNDS} rolling replacements`, told);
    await expectNothingLost(told);
    machineMs = Math.max(machineMs, longestAnswer(told.attempts));
  });

  it(`after a loss, ${LOSS_ROUNDS} times (1 -> 0 -> 1, SIGKILL): the next one goes on behind the lock`, async () => {
    delays.enable();
    const waitsMs: number[] = [];
    const served: Attempt[] = [];
    const told = await watch(async () => {
      for (let round = 0; round < LOSS_ROUNDS; round += 1) {
        const before = fleet.attempts.length;
        await current.kill();
        const deadMs = performance.now();
        current = await startAnother();
        const thereMs = performance.now();
        await fleet.untilAllServedSince(thereMs);
        served.push(...fleet.attempts.slice(before).filter((attempt) => isAnswer(attempt, deadMs)));
        // As long as nobody is there nobody can answer.
        for (const { sentMs, answeredMs } of fleet.beats.filter((beat) => beat.answeredMs >= deadMs)) {
          waitsMs.push(answeredMs - Math.max(sentMs, thereMs));
        }
      }
    });
    const longestAnswerMs = longestAnswer(served);
    const longestWaitMs = waitsMs.reduce((max, waitMs) => Math.max(max, waitMs), 0);
    print(
      `${LOSS_ROUNDS} losses: longest answer ${Math.round(longestAnswerMs)} ms, longest wait ${Math.round(longestWaitMs)} ms`,
      told,
    );
    delays.disable();
    await expectNothingLost(told);
    const promisedMs = LOCK_TTL_MS + MARGIN_MS + machineMs + delays.max / 1e6;
    expect(longestAnswerMs).toBeLessThan(promisedMs);
    // A client that has asked in vain waits up to an interval before it asks again.
    expect(longestWaitMs).toBeLessThan(promisedMs + intervalMs);
  });

  /** The sum of what the clients saw. */
  const print = (what: string, { attempts, beats, tookMs }: Told): void => {
    const counts = new Map<string, number>();
    for (const { outcome, detail } of attempts) {
      const name = `${outcome} ${detail}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const meantRate = Math.round(epochs.size / (intervalMs / 1_000));
    const rate = Math.round(beats.length / (tookMs / 1_000));
    const sums = [...counts].map(([name, count]) => `${name}: ${count}`).join(', ');
    process.stdout.write(
      `${what}: ${beats.length} heartbeats in ${Math.round(tookMs)} ms (${rate}/s, meant ${meantRate}/s), ` +
        `longest ${Math.round(longest(beats))} ms (without a loss ${Math.round(machineMs)} ms), ` +
        `longest between two ${Math.round(longestGapMs(beats))} ms; requests: ${sums}\n`,
    );
  };
});

/** Sent after that moment, and answered by a coordinator, whatever it said. */
function isAnswer({ outcome, sentMs }: Attempt, ms: number): boolean {
  return sentMs >= ms && (outcome === 'ANSWERED' || outcome === 'REFUSED');
}

function longestAnswer(attempts: readonly Attempt[]): number {
  return attempts
    .filter(({ outcome }) => outcome === 'ANSWERED' || outcome === 'REFUSED')
    .reduce((max, { sentMs, endedMs }) => Math.max(max, endedMs - sentMs), 0);
}

function longest(beats: readonly Beat[]): number {
  return beats.reduce((max, { sentMs, answeredMs }) => Math.max(max, answeredMs - sentMs), 0);
}
