import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ExportedGroup, GroupsPage, GroupView, HeartbeatAnswer } from '../../src/protocol';
import {
  type Answer,
  type CoordinatorApp,
  heartbeatOf,
  startCoordinatorApp,
} from '../support/coordinator-app';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';

const BY = { requestedBy: 'test', reason: 'drill' };
const LEASE_MS = 1_000;

describe('metadata that was lost or cannot be read', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;
  let stream = '';
  let names = 0;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url, {
      COORD_MEMBER_LEASE_TTL_MS: String(LEASE_MS),
      COORD_HEARTBEAT_INTERVAL_MS: '200',
      COORD_TICK_INTERVAL_MS: '50',
      COORD_REBALANCE_TIMEOUT_MS: '1000',
    });
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });
  beforeEach(async () => {
    stream = `stream-${(names += 1)}`;
    await coordinator.call('POST', group(), { ...BY, initialShardCount: 2 });
  });

  const group = (): string => `/coord/v1/streams/${stream}/groups/g`;
  const metadataKey = (): string => `redis-stream:coord:{${stream}:g}:metadata`;
  const beat = async (more: Record<string, unknown>): Promise<Answer> =>
    coordinator.call('POST', `${group()}/members/m/heartbeat`, heartbeatOf('m', more));
  const answerTo = async (more: Record<string, unknown>): Promise<HeartbeatAnswer> =>
    (await beat(more)).body as HeartbeatAnswer;
  const join = async (): Promise<HeartbeatAnswer> => {
    const { memberEpoch, metadataVersion } = await answerTo({});
    return answerTo({ memberEpoch, metadataVersion });
  };
  const exported = async (): Promise<ExportedGroup> =>
    (await coordinator.call('GET', `${group()}/metadata`)).body as ExportedGroup;
  const restore = (document: ExportedGroup): Promise<Answer> =>
    coordinator.call('POST', `${group()}/metadata/restore`, { ...BY, document });

  /** Heartbeats like a member that keeps the rules, until it is answered OK. */
  async function goOnUntilOk(last: HeartbeatAnswer): Promise<HeartbeatAnswer[]> {
    const answers: HeartbeatAnswer[] = [last];
    await waitUntil('answered OK', 10 * LEASE_MS, async () => {
      const { memberEpoch, metadataVersion } = answers.at(-1) ?? last;
      const ownedShards = last.assignment.assignedShards;
      answers.push(await answerTo({ memberEpoch, metadataVersion, ownedShards, revokingShards: [] }));
      return answers.at(-1)?.status === 'OK';
    });
    return answers;
  }

  it.each([
    ['the key was deleted', () => redis.cli('DEL', metadataKey()), 404, 'GROUP_NOT_FOUND'],
    [
      'the aggregate is damaged',
      () => redis.cli('HSET', metadataKey(), 'aggregate', '{'),
      503,
      'METADATA_CORRUPT',
    ],
    [
      'the mirror of the revision differs',
      () => redis.cli('HSET', metadataKey(), 'revision', '7'),
      503,
      'METADATA_CORRUPT',
    ],
  ])(
    'is restored when %s: the member goes on, through a round, to OK',
    async (_case, damage, status, errorCode) => {
      const joined = await join();
      expect(joined.assignment.assignedShards).toHaveLength(2);
      const document = await exported();
      await damage();
      const own = { memberEpoch: joined.memberEpoch, metadataVersion: joined.metadataVersion };
      expect(await beat(own)).toMatchObject({ status, body: { errorCode } });
      expect(await restore(document)).toMatchObject({ status: 200, body: { shardCount: 2 } });
      const answers = await goOnUntilOk(joined);
      expect(answers.map((answer) => answer.status)).toEqual(
        expect.arrayContaining(['SYNC_METADATA', 'REVOKE_PENDING']),
      );
      expect(answers.every(({ memberEpoch }) => memberEpoch === joined.memberEpoch)).toBe(true);
      expect(answers.at(-1)?.assignment.assignedShards).toEqual(joined.assignment.assignedShards);
    },
  );

  it('is not restored over a newer value, nor from a document that is not one', async () => {
    const old = await exported();
    await join();
    const before = await redis.cli('HGETALL', metadataKey());
    expect(await restore(old)).toMatchObject({ status: 409, body: { errorCode: 'STATE_CONFLICT' } });
    for (const document of [
      {},
      { ...(await exported()), streamPrefix: 'other' },
      { ...(await exported()), revision: 3 },
      { ...(await exported()), schemaVersion: '99' },
    ]) {
      expect(await restore(document)).toMatchObject({ status: 400, body: { errorCode: 'INVALID_REQUEST' } });
    }
    const after = await redis.cli('HGETALL', metadataKey());
    expect((after as string[])[1]).toBe((before as string[])[1]);
  });

  // The record of the stream says how many shards a second group gets.
  it('leaves the shard count of the stream alone when the restore is refused', async () => {
    const old = await exported();
    await coordinator.call('DELETE', group(), BY);
    await coordinator.call('POST', group(), { ...BY, initialShardCount: 3 });
    expect(await restore(old)).toMatchObject({ status: 409 });
    const second = await coordinator.call('POST', `/coord/v1/streams/${stream}/groups/h`, BY);
    expect(second).toMatchObject({ status: 201, body: { shardCount: 3 } });
    names += 1; // `h` is in the index, too
  });

  it('can be created again after it was lost, and grants nothing for one lease', async () => {
    await join();
    await redis.cli('DEL', metadataKey());
    const createdAtMs = performance.now();
    expect(await coordinator.call('POST', group(), BY)).toMatchObject({ status: 201 });
    const rejoined = await answerTo({ instanceId: 'new' });
    expect(rejoined.assignment.assignedShards).toEqual([]);
    await waitUntil('granted', 10 * LEASE_MS, async () => {
      const { memberEpoch, metadataVersion } = rejoined;
      return (await answerTo({ memberEpoch, metadataVersion })).assignment.assignedShards.length === 2;
    });
    expect(performance.now() - createdAtMs).toBeGreaterThan(LEASE_MS * 0.9);
  });

  it('comes back into the index when that was lost', async () => {
    await redis.cli('DEL', 'redis-stream:coord:groups');
    const listed = async (): Promise<readonly GroupView[]> =>
      ((await coordinator.call('GET', '/coord/v1/monitoring/groups')).body as GroupsPage).groups;
    expect(await listed()).toEqual([]);
    const repaired = await coordinator.call('POST', '/coord/v1/index/repair', BY);
    expect(repaired).toMatchObject({ status: 200, body: { added: names } });
    expect(await listed()).toHaveLength(names);
    expect(coordinator.log).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: 'asked', action: 'repair-index', reason: 'drill' }),
      ]),
    );
  });
});
