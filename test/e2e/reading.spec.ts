import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GroupsPage, HeartbeatAnswer, MembersView, ProducerRouting } from '../../src/protocol';
import { type CoordinatorApp, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

const GROUP = '/coord/v1/streams/orders/groups/g';
const MONITORED = '/coord/v1/monitoring/streams/orders/groups/g';

describe('what can be read', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;
  let joined: HeartbeatAnswer;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url, { COORD_ID: 'reader' });
    await coordinator.call('POST', GROUP, { requestedBy: 'test', initialShardCount: 2 });
    const join = heartbeatOf('m1', { memberName: 'worker 1' });
    joined = (await coordinator.call('POST', `${GROUP}/members/m1/heartbeat`, join)).body as HeartbeatAnswer;
    for (const name of ['a', 'b', 'c']) {
      await coordinator.call('POST', `/coord/v1/streams/paged/groups/${name}`, { requestedBy: 'test' });
    }
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  describe('producer routing', () => {
    const routing = (query = '') => coordinator.call('GET', `${GROUP}/producer-routing${query}`);

    it('names every shard with its key and slot, and how long it holds', async () => {
      expect(await routing()).toMatchObject({
        status: 200,
        body: {
          streamPrefix: 'orders',
          consumerGroup: 'g',
          shardCount: 2,
          streamKeyPattern: 'orders:{shardIndex}',
          shards: [
            {
              shardIndex: 0,
              streamKey: 'orders:0',
              redisSlot: 8578,
            },
            { shardIndex: 1, streamKey: 'orders:1' },
          ],
          leaseMs: 30_000,
          refreshMs: 5_000,
          regressed: false,
        },
      });
    });

    it('answers at once although it may wait, when the caller has an older version', async () => {
      const { metadataVersion } = (await routing()).body as ProducerRouting;
      const answer = await routing(`?metadataVersion=1&waitMs=60000`);
      expect(answer.body).toMatchObject({ metadataVersion });
    });

    it('is 404 for a group that is not recorded', async () => {
      const answer = await coordinator.call('GET', '/coord/v1/streams/orders/groups/none/producer-routing');
      expect(answer).toMatchObject({ status: 404, body: { errorCode: 'GROUP_NOT_FOUND' } });
    });
  });

  describe('monitoring', () => {
    it('tells how the coordinator is doing', async () => {
      expect(await coordinator.call('GET', '/coord/v1/monitoring/health')).toMatchObject({
        status: 200,
        body: {
          status: 'UP',
          coordinatorId: 'reader',
          redis: { isReady: true, missingCommands: [] },
          loop: {},
        },
      });
    });

    it('tells which versions are spoken', async () => {
      expect((await coordinator.call('GET', '/coord/v1/monitoring/compatibility')).body).toEqual({
        currentCoordinationVersion: 1,
        supportedCoordinationVersions: { min: 1, max: 1 },
        coordinationVersions: [1],
      });
    });

    it('shows a group as administration does', async () => {
      const group = await coordinator.call('GET', MONITORED);
      expect(group).toMatchObject({
        status: 200,
        body: { state: 'STABLE', currentAssignmentSummary: { m1: 2 } },
      });
      expect((await coordinator.call('GET', GROUP)).body).toEqual(group.body);
    });

    it('shows members with lease, shards and what they last reported', async () => {
      const { memberEpoch, metadataVersion } = joined;
      const shardProgress = [
        { shard: { shardIndex: 0 }, streamKey: 'orders:0', lastAckedId: '1-0', pendingCount: 3, secret: 'x' },
      ];
      const capacity = { runtimeMaxConcurrency: 1, availableConcurrency: 1 };
      const beat = heartbeatOf('m1', {
        memberEpoch,
        metadataVersion,
        shardProgress,
        runtimeConsumerCapacity: capacity,
      });
      await coordinator.call('POST', `${GROUP}/members/m1/heartbeat`, beat);
      const { members } = (await coordinator.call('GET', `${MONITORED}/members`)).body as MembersView;
      expect(members).toMatchObject([
        {
          memberId: 'm1',
          memberName: 'worker 1',
          state: 'ACTIVE',
          memberEpoch,
          currentAssignment: [{ shardIndex: 0 }, { shardIndex: 1 }],
          revoking: [],
          runtimeConsumerCapacity: capacity,
          shardProgress: [
            { shard: { shardIndex: 0 }, streamKey: 'orders:0', lastAckedId: '1-0', pendingCount: 3 },
          ],
        },
      ]);
      expect(members[0]?.leaseRemainingMs).toBeGreaterThan(0);
      expect(members[0]?.lastHeartbeatAt).toBeGreaterThan(joined.metadataVersion - 60_000);
      expect(JSON.stringify(members)).not.toContain('secret');
    });

    it('shows who should read what, who does, and what is being given up', async () => {
      const both = [{ shardIndex: 0 }, { shardIndex: 1 }];
      expect((await coordinator.call('GET', `${MONITORED}/assignments`)).body).toEqual({
        targetAssignment: { m1: both },
        currentAssignments: { m1: both },
        revokeProgress: { m1: [] },
        invariantViolations: [],
      });
    });

    it.each(['', '/members', '/assignments'])(
      'is 404 for a group that is not recorded: %j',
      async (suffix) => {
        const path = `/coord/v1/monitoring/streams/orders/groups/none${suffix}`;
        expect(await coordinator.call('GET', path)).toMatchObject({
          status: 404,
          body: { errorCode: 'GROUP_NOT_FOUND' },
        });
      },
    );
  });

  describe('the list of groups', () => {
    const page = async (query: string): Promise<GroupsPage> =>
      (await coordinator.call('GET', `/coord/v1/monitoring/groups${query}`)).body as GroupsPage;
    const namesOf = ({ groups }: GroupsPage): string[] => groups.map(({ consumerGroup }) => consumerGroup);

    it('holds all, filtered by stream or state', async () => {
      expect(namesOf(await page(''))).toEqual(['g', 'a', 'b', 'c']);
      expect(namesOf(await page('?streamPrefix=paged'))).toEqual(['a', 'b', 'c']);
      expect(namesOf(await page('?state=STABLE'))).toEqual(['g']);
      expect(namesOf(await page('?state=EMPTY&streamPrefix=orders'))).toEqual([]);
    });

    it('comes a page at a time, the last one without a cursor', async () => {
      const first = await page('?streamPrefix=paged&limit=2');
      expect(namesOf(first)).toEqual(['a', 'b']);
      const second = await page(
        `?streamPrefix=paged&limit=2&cursor=${encodeURIComponent(first.nextCursor ?? '')}`,
      );
      expect([namesOf(second), second.nextCursor]).toEqual([['c'], null]);
    });

    it('shows a group whose metadata cannot be read, and all others', async () => {
      await redis.cli('HSET', 'redis-stream:coord:{paged:b}:metadata', 'aggregate', '{broken');
      try {
        expect(namesOf(await page('?streamPrefix=paged'))).toEqual(['a', 'c']);
        expect(await page('?streamPrefix=paged')).toMatchObject({
          unreadable: [{ streamPrefix: 'paged', consumerGroup: 'b', errorCode: 'METADATA_CORRUPT' }],
        });
        expect(await coordinator.call('GET', '/coord/v1/streams/paged/groups/b')).toMatchObject({
          status: 503,
          body: { errorCode: 'METADATA_CORRUPT', retryable: false },
        });
      } finally {
        await redis.cli('DEL', 'redis-stream:coord:{paged:b}:metadata');
      }
    });

    it.each(['?limit=0', '?limit=201', '?limit=x', '?state=ANY', '?streamPrefix=a%20b', '?cursor='])(
      'refuses %s',
      async (query) => {
        const field = query.slice(1).split('=')[0];
        expect(await coordinator.call('GET', `/coord/v1/monitoring/groups${query}`)).toMatchObject({
          status: 400,
          body: { details: [{ field }] },
        });
      },
    );
  });
});
