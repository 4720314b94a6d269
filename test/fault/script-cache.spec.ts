import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HeartbeatAnswer } from '../../src/protocol';
import { type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { groupKeyOf, storedMembers } from '../support/stored-group';
import { troubleLines } from './log-lines';
import { MemberTraffic } from './member-traffic';

const FLUSHES = 5;
const DEADLINE_MS = 10_000;
/** Commands have time enough on a busy machine: nothing but the flush may be noticed. */
const PATIENT = {
  COORD_LOCK_TTL_MS: '10000',
  COORD_MEMBER_LEASE_TTL_MS: '10000',
  COORD_REBALANCE_TIMEOUT_MS: '10000',
};
const key = groupKeyOf('orders', 'billing');

describe('a coordinator whose scripts Redis forgets', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorProcess;
  let traffic: MemberTraffic;
  beforeEach(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorProcess(redis.url, PATIENT);
    await coordinator.waitForReadiness(200);
    await coordinator.createGroup(key);
    traffic = new MemberTraffic(coordinator, key);
  });
  afterEach(async () => {
    await traffic.stop();
    await coordinator.stop();
    await redis.stop();
  });

  /** How often Redis has answered NOSCRIPT. */
  async function missedScripts(): Promise<number> {
    const stats = String(await redis.cli('INFO', 'errorstats'));
    return Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  it('sends them again, and nobody notices', async () => {
    await traffic.start(['m1', 'm2']);
    for (let count = 0; count < FLUSHES; count += 1) {
      await traffic.untilAll('served', ({ status }) => status === 200);
      const missedBefore = await missedScripts();
      await redis.cli('SCRIPT', 'FLUSH');
      await waitUntil('a script is missed', DEADLINE_MS, async () => (await missedScripts()) > missedBefore);
    }
    await traffic.untilAll('served in the end', ({ status }) => status === 200);
    await traffic.stop();
    const unserved = traffic.exchanges.filter(
      ({ kind, status, body }) =>
        status !== 200 || (kind === 'HEARTBEAT' && (body as HeartbeatAnswer).status !== 'OK'),
    );
    expect(unserved).toEqual([]);
    expect(await storedMembers(redis, key)).toEqual(expect.arrayContaining(['m1', 'm2']));
    expect(troubleLines(coordinator.log)).toEqual([]);
  });
});
