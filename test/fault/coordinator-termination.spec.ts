import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import { isFrozen } from '../support/process-state';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { groupKeyOf, storedMembers } from '../support/stored-group';
import { HeartbeatLoad, type Outcome } from './heartbeat-load';

const DEADLINE_MS = 10_000;
const MEMBERS = 200;
const IN_FLIGHT = 64;
const GRACE_MS = 6_000;
/** For the process to be reaped on a busy machine. */
const EXIT_MARGIN_MS = 1_000;
const TIMES = {
  COORD_MEMBER_LEASE_TTL_MS: '10000',
  COORD_REBALANCE_TIMEOUT_MS: '10000',
  COORD_LOCK_TTL_MS: '3000',
  SHUTDOWN_GRACE_MS: String(GRACE_MS),
};
const key = groupKeyOf('orders', 'billing');

describe('a coordinator that is told to stop (SIGTERM) under load', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorProcess;
  let load: HeartbeatLoad;
  let running: Promise<void>;

  beforeEach(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorProcess(redis.url, TIMES);
    await coordinator.waitForReadiness(200);
    await coordinator.createGroup(key, 64);
    load = new HeartbeatLoad(coordinator.baseUrl, key, MEMBERS, IN_FLIGHT);
    running = load.run();
    await load.untilAllJoined();
  });
  afterEach(async () => {
    redis.thaw();
    await coordinator.stop();
    await load.close();
    await running;
    await redis.stop();
  });

  /** From SIGTERM on; resolves once the process has ended and nobody sends any more. */
  async function terminate(): Promise<{ readonly outcomes: readonly Outcome[]; readonly tookMs: number }> {
    const before = load.outcomes.length;
    const sentMs = performance.now();
    coordinator.terminate();
    const end = await coordinator.ended(GRACE_MS + DEADLINE_MS);
    await running;
    return { outcomes: load.outcomes.slice(before), tookMs: end.atMs - sentMs };
  }

  function expectAllAnswered(outcomes: readonly Outcome[]): void {
    expect(outcomes.filter(({ kind }) => kind === 'BROKEN')).toEqual([]);
    const answers = outcomes.filter((outcome) => outcome.kind === 'ANSWERED');
    const refused = answers.filter(({ status }) => status !== 200);
    expect(answers.length).toBeGreaterThan(0);
    for (const { status, body } of refused) {
      expect(status).toBe(503);
      expect(body).toMatchObject({ retryable: true });
    }
    // Everybody in flight saw the listener close.
    expect(outcomes.filter(({ kind }) => kind === 'REFUSED')).toHaveLength(IN_FLIGHT);
  }

  it('answers every request, then refuses connections, and is gone within the grace period', async () => {
    const { outcomes, tookMs } = await terminate();
    expectAllAnswered(outcomes);
    expect(tookMs).toBeLessThan(GRACE_MS);
    expect(await storedMembers(redis, key)).toHaveLength(MEMBERS);
  });

  it('does the same while Redis is frozen', async () => {
    redis.freeze();
    await waitUntil('Redis is frozen', DEADLINE_MS, () => isFrozen(redis.pid));
    const { outcomes, tookMs } = await terminate();
    expectAllAnswered(outcomes);
    expect(tookMs).toBeLessThan(GRACE_MS + EXIT_MARGIN_MS);
    redis.thaw();
    expect(await storedMembers(redis, key)).toHaveLength(MEMBERS);
  });
});
