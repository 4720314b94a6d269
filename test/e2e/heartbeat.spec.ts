import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HeartbeatAnswer } from '../../src/protocol';
import {
  type Answer,
  type CoordinatorApp,
  heartbeatOf,
  startCoordinatorApp,
} from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

describe('a heartbeat', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;
  let stream = '';
  let names = 0;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });
  beforeEach(async () => {
    stream = `stream-${(names += 1)}`;
    await coordinator.call('POST', `/coord/v1/streams/${stream}/groups/g`, { requestedBy: 'test' });
  });

  const path = (memberId: string, group = 'g'): string =>
    `/coord/v1/streams/${stream}/groups/${group}/members/${memberId}/heartbeat`;
  const beat = (memberId: string, more: Record<string, unknown> = {}, group?: string): Promise<Answer> =>
    coordinator.call('POST', path(memberId, group), heartbeatOf(memberId, more));
  const answerTo = async (memberId: string, more: Record<string, unknown> = {}): Promise<HeartbeatAnswer> => {
    const answer = await beat(memberId, more);
    expect(answer.status).toBe(200);
    return answer.body as HeartbeatAnswer;
  };

  it('joins with the base fields only, and is told all shards, times and tokens', async () => {
    const joined = await answerTo('m1', { requestId: 'r-1' });
    expect(joined).toMatchObject({
      responseTo: 'r-1',
      status: 'OK',
      memberId: 'm1',
      heartbeatIntervalMs: 2000,
      rebalanceTimeoutMs: 6000,
      leaseTtlMs: 6000,
      assignment: {
        assignedShards: [0, 1, 2, 3].map((shardIndex) => ({ shardIndex })),
        pendingShards: [],
        revokingShards: [],
        metadataVersion: joined.metadataVersion,
      },
    });
    expect(joined.memberEpoch).toBeGreaterThan(0);
    expect(joined.assignment.fencingTokens).toHaveLength(4);
    expect(joined.assignment.fencingTokens?.every(({ token }) => token > 0)).toBe(true);
  });

  it('hands shards over only once they were given up', async () => {
    const first = await answerTo('m1');
    const second = await answerTo('m2');
    expect(second.assignment).toMatchObject({ assignedShards: [], pendingShards: [{}, {}] });
    const { memberEpoch } = first;
    const { metadataVersion, assignment } = await answerTo('m1', {
      memberEpoch,
      metadataVersion: first.metadataVersion,
      ownedShards: first.assignment.assignedShards,
    });
    expect(assignment.revokingShards).toEqual(second.assignment.pendingShards);
    const released = await answerTo('m1', {
      memberEpoch,
      metadataVersion,
      ownedShards: assignment.assignedShards,
      revokingShards: assignment.revokingShards?.map((shard) => ({ shard, state: 'REVOKED', inFlight: 0 })),
    });
    expect(released.assignment.revokingShards).toEqual([]);
    const granted = await answerTo('m2', {
      memberEpoch: second.memberEpoch,
      metadataVersion: second.metadataVersion,
    });
    expect(granted.assignment.assignedShards).toEqual(second.assignment.pendingShards);
  });

  it('accepts lists that are absent, null, unsorted or repeat themselves', async () => {
    const { memberEpoch, metadataVersion } = await answerTo('m1');
    const beats = [
      {},
      { ownedShards: null, revokingShards: null, shardProgress: null },
      { ownedShards: [3, 0, 2, 1, 0, 3].map((shardIndex) => ({ shardIndex })) },
    ];
    for (const lists of beats) {
      expect(await answerTo('m1', { memberEpoch, metadataVersion, ...lists })).toMatchObject({
        status: 'OK',
      });
    }
  });

  it('ignores fields that it does not know', async () => {
    expect(await answerTo('m1', { later: { deep: [1] }, constructor: 'x' })).toMatchObject({ status: 'OK' });
  });

  it('leaves, and a second leave changes nothing', async () => {
    const { metadataVersion } = await answerTo('m1');
    const leave = { memberEpoch: -1, metadataVersion, ownedShards: [], revokingShards: [] };
    expect(await answerTo('m1', leave)).toMatchObject({ status: 'OK', memberEpoch: -1 });
    expect(await answerTo('m1', leave)).toMatchObject({ status: 'OK', assignment: { assignedShards: [] } });
  });

  it('is answered UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH when it is of no running tenure', async () => {
    expect(await answerTo('m9', { memberEpoch: 5 })).toMatchObject({ status: 'UNKNOWN_MEMBER_ID' });
    const { memberEpoch } = await answerTo('m1');
    const older = await answerTo('m1', { memberEpoch: memberEpoch - 1 });
    expect(older).toMatchObject({ status: 'FENCED_MEMBER_EPOCH', assignment: { assignedShards: [] } });
  });

  it('is answered UNSUPPORTED_PROTOCOL for another version, and 400 for a negative one', async () => {
    expect(await answerTo('m1', { protocolVersion: 2 })).toMatchObject({ status: 'UNSUPPORTED_PROTOCOL' });
    expect(await beat('m1', { protocolVersion: -1 })).toMatchObject({
      status: 400,
      body: { details: [{ field: 'protocolVersion' }] },
    });
  });

  it('is answered 404 for a group that is not recorded, which it does not create', async () => {
    expect(await beat('m1', {}, 'nobody')).toMatchObject({
      status: 404,
      body: { errorCode: 'GROUP_NOT_FOUND', retryable: false },
    });
    expect(await redis.cli('EXISTS', `redis-stream:coord:{${stream}:nobody}:metadata`)).toBe(0);
  });

  it.each(['metadataVersion', 'maxObservedVersion'])(
    'starts a correction round when %s is above the recorded version, in which members are asked to tell',
    async (field) => {
      const { memberEpoch, metadataVersion } = await answerTo('m1');
      const joined = await answerTo('m2', { [field]: metadataVersion + 1_000_000 });
      expect(joined).toMatchObject({ status: 'REVOKE_PENDING', assignment: { assignedShards: [] } });
      const mine = { memberEpoch, metadataVersion };
      expect(await answerTo('m1', mine)).toMatchObject({ status: 'SYNC_METADATA' });
      const told = {
        memberEpoch,
        metadataVersion: joined.metadataVersion,
        ownedShards: [],
        revokingShards: [],
      };
      expect(await answerTo('m1', told)).toMatchObject({ status: 'REVOKE_PENDING' });
      const refused = await coordinator.call('DELETE', `/coord/v1/streams/${stream}/groups/g`, {
        requestedBy: 'test',
        reason: 'test',
        force: true,
      });
      expect(refused).toMatchObject({
        status: 409,
        body: { errorCode: 'METADATA_CORRECTION_ACTIVE', retryable: true },
      });
      const metrics = await coordinator.call('GET', '/metrics');
      expect(metrics.body).toMatch(/metadata_regressions_total\{cause="UNKNOWN_VERSION"\} [1-9]/);
    },
  );

  it.each([
    ['the path names another member', { memberId: 'other' }, 'memberId'],
    ['a join lists owned shards', { ownedShards: [{ shardIndex: 0 }] }, 'ownedShards'],
    [
      'a shard is owned and revoking at once',
      {
        memberEpoch: 7,
        ownedShards: [{ shardIndex: 1 }],
        revokingShards: [{ shard: { shardIndex: 1 }, state: 'REVOKING', inFlight: 0 }],
      },
      'revokingShards[0].shard',
    ],
    [
      'a shard has two states',
      {
        revokingShards: [
          { shard: { shardIndex: 1 }, state: 'REVOKED', inFlight: 0 },
          { shard: { shardIndex: 1 }, state: 'DRAINING', inFlight: 0 },
        ],
      },
      'revokingShards[1].state',
    ],
    [
      'an index is beyond the maximum',
      { memberEpoch: 7, ownedShards: [{ shardIndex: 4095 }, { shardIndex: 4096 }] },
      'ownedShards[1].shardIndex',
    ],
  ])('is refused with the field when %s', async (_case, more, field) => {
    const answer = await beat('m1', more);
    expect(answer).toMatchObject({
      status: 400,
      body: { errorCode: 'INVALID_REQUEST', details: [{ field }] },
    });
  });
});
