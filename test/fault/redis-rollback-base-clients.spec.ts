import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HeartbeatAnswer } from '../../src/protocol';
import { type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import { groupViewFrom, isBalanced } from '../support/coordinator-readings';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { groupKeyOf } from '../support/stored-group';
import { BaseClient, readTwice } from './base-client';
import { PATIENCE_MS } from './consumer-world';

const LEASE_MS = 4_000;
const SHARDS = 4;
const ENVIRONMENT = {
  COORD_MEMBER_LEASE_TTL_MS: String(LEASE_MS),
  COORD_HEARTBEAT_INTERVAL_MS: '400',
  COORD_REBALANCE_TIMEOUT_MS: '8000',
  COORD_LOCK_TTL_MS: '3000',
};
const key = groupKeyOf('orders', 'billing');

describe('members that send the base fields only, whose Redis goes back to before a join', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorProcess;

  beforeEach(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorProcess(redis.url, ENVIRONMENT);
    await coordinator.waitForReadiness(200);
    await coordinator.createGroup(key, SHARDS);
  });
  afterEach(async () => {
    await coordinator.stop();
    await redis.stop();
  });

  /** All of them in turn, until it holds; nobody ever reads what another does. */
  async function beatUntil(
    what: string,
    clients: readonly BaseClient[],
    holds: () => boolean | Promise<boolean>,
  ): Promise<void> {
    await waitUntil(what, PATIENCE_MS, async () => {
      for (const client of clients) {
        await client.beat();
        expect(readTwice(clients)).toEqual([]);
      }
      return holds();
    });
  }

  const settled = (clients: readonly BaseClient[]) => async (): Promise<boolean> =>
    clients.reduce((sum, { reading }) => sum + reading.size, 0) === SHARDS &&
    isBalanced(await groupViewFrom(coordinator, key), clients.length);

  it('are told, stop what they lost, wait, and go on: SYNC_METADATA, REVOKE_PENDING, OK', async () => {
    const [m1, m2, m3] = ['m1', 'm2', 'm3'].map((id) => new BaseClient(coordinator, key, id)) as [
      ...[BaseClient, BaseClient, BaseClient],
    ];
    await beatUntil('two share', [m1, m2], settled([m1, m2]));
    await redis.cli('SAVE');
    await beatUntil('three share', [m1, m2, m3], settled([m1, m2, m3]));
    const before = [m1, m2, m3].map(({ statuses }) => statuses.length);
    const lostVersion = Math.max(...[m1, m2, m3].map(({ metadataVersion }) => metadataVersion));
    const kept = [m1, m2].map(({ reading }) => new Set(reading));

    const killedMs = performance.now();
    await redis.restart({ kill: true });
    // The first answer of the round is lost on its way: the same comes again.
    let lost: HeartbeatAnswer | null = null;
    await waitUntil('the first is told', PATIENCE_MS, async () => {
      lost = await m1.beat({ losesAnswer: true });
      return lost !== null && lost.status !== 'RETRY';
    });
    expect(lost).toMatchObject({ status: 'SYNC_METADATA' });
    const again = await m1.beat();
    expect(again).toEqual({ ...(lost as unknown as HeartbeatAnswer), responseTo: again?.responseTo });
    expect(again?.metadataVersion).toBeGreaterThan(lostVersion);

    await beatUntil('all are told', [m1, m2, m3], () =>
      [m1, m2, m3].every(({ statuses }) => statuses.at(-1) === 'REVOKE_PENDING'),
    );
    // What they read before and Redis knows of they read on; whatever else Redis says, they start nothing.
    [m1, m2].forEach(({ reading }, index) => expect(reading).toEqual(kept[index]));
    expect([...m3.reading]).toEqual([]);

    const all = [m1, m2, m3];
    const areAnsweredOk = (): boolean => all.every(({ statuses }) => statuses.at(-1) === 'OK');
    await beatUntil('all go on', all, async () => areAnsweredOk() && (await settled(all)()));
    expect(performance.now() - killedMs).toBeGreaterThanOrEqual(LEASE_MS);
    for (const [index, client] of [m1, m2].entries()) {
      expect(client.course(before[index])).toEqual(['SYNC_METADATA', 'REVOKE_PENDING', 'OK']);
    }
    expect(m3.course(before[2])).toEqual(['UNKNOWN_MEMBER_ID', 'REVOKE_PENDING', 'OK']);
  });
});
