import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ExplainView, GroupView, HeartbeatAnswer, MembersView } from '../../src/protocol';
import { type CoordinatorApp, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';
import { groupKeyOf, STORED_KEYS } from '../support/stored-group';

const STREAM = 'orders';
const STALL_MS = 1_000;
const DEADLINE_MS = 20_000;

/** What a member reports besides its name. */
interface Report {
  readonly owned?: readonly number[];
  readonly draining?: readonly number[];
  readonly revoked?: readonly number[];
}

describe('the explanation of a group over HTTP', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  const groupPath = (group: string): string => `/coord/v1/streams/${STREAM}/groups/${group}`;
  const monitored = (group: string): string => `/coord/v1/monitoring/streams/${STREAM}/groups/${group}`;
  const create = (group: string) =>
    coordinator.call('POST', groupPath(group), { requestedBy: 'test', initialShardCount: 2 });
  const explain = async (group: string, asked = coordinator): Promise<ExplainView> => {
    const answer = await asked.call('GET', `${monitored(group)}/explain`);
    expect(answer.status).toBe(200);
    return answer.body as ExplainView;
  };

  /** A member that sends what it was told last. */
  function member(group: string, memberId: string) {
    let epoch = 0;
    let version = 0;
    return {
      async beat({ owned = [], draining = [], revoked = [] }: Report = {}): Promise<HeartbeatAnswer> {
        const revoking = [
          ...draining.map((shardIndex) => ({ shard: { shardIndex }, state: 'DRAINING', inFlight: 1 })),
          ...revoked.map((shardIndex) => ({ shard: { shardIndex }, state: 'REVOKED', inFlight: 0 })),
        ];
        const body = heartbeatOf(memberId, {
          memberEpoch: epoch,
          metadataVersion: version,
          ownedShards: owned.map((shardIndex) => ({ shardIndex })),
          revokingShards: revoking,
        });
        const path = `${groupPath(group)}/members/${memberId}/heartbeat`;
        const answer = (await coordinator.call('POST', path, body)).body as HeartbeatAnswer;
        epoch = answer.memberEpoch;
        version = answer.metadataVersion;
        return answer;
      },
    };
  }

  it('NO_ELIGIBLE_MEMBER, then nothing, as soon as a member reads', async () => {
    await create('empty');
    expect(await explain('empty')).toMatchObject({
      streamPrefix: STREAM,
      consumerGroup: 'empty',
      state: 'EMPTY',
      shardCount: 2,
      provisioning: 'COMPLETE',
      correction: null,
      quietPeriod: null,
      shards: [
        { shardIndex: 0, holder: null, waiting: null, reason: 'NO_ELIGIBLE_MEMBER', lag: 0, pendingCount: 0 },
        { shardIndex: 1, reason: 'NO_ELIGIBLE_MEMBER' },
      ],
      members: [],
    });
    await member('empty', 'm1').beat();
    const explained = await explain('empty');
    expect(explained.shards).toMatchObject([
      { holder: 'm1', waiting: null, reason: null, since: null, until: null, waitsFor: [] },
      { holder: 'm1', reason: null },
    ]);
    expect(explained.members).toMatchObject([
      { memberId: 'm1', state: 'STARTING', hasTold: null, pendingShards: [], reasons: [] },
    ]);
  });

  it('WAITING_FOR_REVOKE, and WAITING_FOR_LEASE after an operator fenced the holder', async () => {
    await create('moving');
    await member('moving', 'm1').beat();
    const joined = await member('moving', 'm2').beat();
    const [waiting] = joined.assignment.pendingShards;
    const { shards, members, state } = await explain('moving');
    expect(state).toBe('RECONCILING');
    expect(members).toMatchObject([
      { memberId: 'm1', revokingShards: [waiting] },
      { memberId: 'm2', pendingShards: [waiting], reasons: ['WAITING_FOR_REVOKE'], waitsFor: ['m1'] },
    ]);
    const drained = shards[waiting?.shardIndex ?? -1];
    expect(drained).toMatchObject({
      holder: 'm1',
      waiting: 'm2',
      reason: 'WAITING_FOR_REVOKE',
      waitsFor: ['m1'],
      until: (drained?.since ?? 0) + 6_000,
    });

    const body = { requestedBy: 'test', reason: 'stuck' };
    await coordinator.call('DELETE', `${groupPath('moving')}/members/m1`, body);
    const fenced = await explain('moving');
    expect(fenced.shards.map(({ reason }) => reason)).toEqual(['WAITING_FOR_LEASE', 'WAITING_FOR_LEASE']);
    expect(fenced.members).toMatchObject([
      { memberId: 'm1', state: 'FENCED', leaseRemainingMs: null },
      { memberId: 'm2', waitsFor: ['m1'] },
    ]);
  });

  it('STALLED: the owner heartbeats, and entries are not acked, or not read at all', async () => {
    // To this one, on the same Redis, work stands after a second.
    const impatient = await startCoordinatorApp(redis.url, {
      COORD_ID: 'impatient',
      COORD_HEARTBEAT_INTERVAL_MS: '300',
      COORD_MEMBER_LEASE_TTL_MS: String(STALL_MS),
      COORD_REBALANCE_TIMEOUT_MS: String(STALL_MS),
    });
    try {
      await create('standing');
      const owner = member('standing', 'm1');
      await owner.beat();
      await redis.cli('XADD', `${STREAM}:0`, '*', 'payload', 'x');
      await redis.cli('XREADGROUP', 'GROUP', 'standing', 'm1', 'COUNT', '1', 'STREAMS', `${STREAM}:0`, '>');
      await redis.cli('XADD', `${STREAM}:1`, '*', 'payload', 'x');
      const shards = await waitForStall(owner, impatient);
      expect(shards).toMatchObject([
        { lag: 0, pendingCount: 1, waitsFor: ['m1'] },
        { lag: 1, pendingCount: 0, waitsFor: ['m1'] },
      ]);
      await redis.cli('XACK', `${STREAM}:0`, 'standing', ...(await pendingIds('standing', 0)));
      const acked = (await explain('standing', impatient)).shards[0];
      expect(acked).toMatchObject({ reason: null, pendingCount: 0 });
    } finally {
      await impatient.close();
    }
  });

  async function waitForStall(
    owner: ReturnType<typeof member>,
    asked: CoordinatorApp,
  ): Promise<ExplainView['shards']> {
    const deadlineMs = Date.now() + DEADLINE_MS;
    for (;;) {
      await owner.beat({ owned: [0, 1] });
      const { shards, observedAt } = await explain('standing', asked);
      for (const { reason, since } of shards) {
        if (reason !== null) expect(observedAt - (since ?? observedAt)).toBeGreaterThanOrEqual(STALL_MS);
      }
      if (shards.every(({ reason }) => reason === 'STALLED')) return shards;
      if (Date.now() > deadlineMs) throw new Error(`no stall: ${JSON.stringify(shards)}`);
    }
  }

  async function pendingIds(group: string, shard: number): Promise<string[]> {
    const entries = await redis.cli('XPENDING', `${STREAM}:${shard}`, group, '-', '+', '10');
    return (entries as string[][]).map(([id]) => id ?? '');
  }

  it('CONFLICT, and the round in every view, after Redis lost writes', async () => {
    await create('lost');
    const [m1, m2] = [member('lost', 'm1'), member('lost', 'm2')];
    await m1.beat();
    await m1.beat({ owned: [0, 1] });
    const pending = (await m2.beat()).assignment.pendingShards.map(({ shardIndex }) => shardIndex);
    const kept = [0, 1].filter((shard) => !pending.includes(shard));
    await m1.beat({ owned: kept, draining: pending }); // told of the drain
    const key = STORED_KEYS.metadata(groupKeyOf(STREAM, 'lost'));
    await redis.cli('COPY', key, 'backup');
    await m1.beat({ owned: kept, revoked: pending });
    expect((await m2.beat()).assignment.assignedShards.map(({ shardIndex }) => shardIndex)).toEqual(pending);
    await redis.cli('RENAME', 'backup', key);

    expect(await m2.beat({ owned: pending })).toMatchObject({ status: 'SYNC_METADATA' });
    const { correction, shards, members } = await explain('lost');
    expect(correction).toMatchObject({ pendingMembers: ['m1', 'm2'] });
    expect(correction?.earliestEndAt).toBe((correction?.startedAt ?? 0) + 6_000);
    expect(correction?.fenceAt).toBe((correction?.startedAt ?? 0) + 2 * 6_000 + 6_000);
    expect(shards[pending[0] ?? -1]).toMatchObject({
      reason: 'CONFLICT',
      waitsFor: ['m2'],
      since: correction?.startedAt,
      until: correction?.fenceAt,
    });
    expect(members.map(({ memberId, hasTold }) => [memberId, hasTold])).toEqual([
      ['m1', false],
      ['m2', false],
    ]);

    await m2.beat({ owned: pending });
    const group = (await coordinator.call('GET', monitored('lost'))).body as GroupView;
    expect(group.correction).toEqual({
      cause: correction?.cause,
      roundVersion: correction?.roundVersion,
      startedAt: correction?.startedAt,
      observedVersion: correction?.observedVersion,
      pendingMembers: ['m1'],
    });
    const shown = (await coordinator.call('GET', `${monitored('lost')}/members`)).body as MembersView;
    expect(shown.members.map(({ memberId, hasTold }) => [memberId, hasTold])).toEqual([
      ['m1', false],
      ['m2', true],
    ]);
  });

  it('PROVISIONING: a key of another type is in the way of a stream', async () => {
    await redis.cli('SET', 'blocked:0', 'x');
    const path = '/coord/v1/streams/blocked/groups/g';
    const created = await coordinator.call('POST', path, { requestedBy: 'test', initialShardCount: 2 });
    expect(created.status).toBe(503);
    const answer = await coordinator.call('GET', '/coord/v1/monitoring/streams/blocked/groups/g/explain');
    expect(answer.body).toMatchObject({
      provisioning: 'PENDING',
      shards: [{ reason: 'PROVISIONING', lag: null, pendingCount: null }, { reason: 'PROVISIONING' }],
    });
  });

  it('is 404 for a group that is not recorded, 503 for one that cannot be read', async () => {
    expect(await coordinator.call('GET', `${monitored('none')}/explain`)).toMatchObject({
      status: 404,
      body: { errorCode: 'GROUP_NOT_FOUND' },
    });
    await create('broken');
    await redis.cli('HSET', STORED_KEYS.metadata(groupKeyOf(STREAM, 'broken')), 'aggregate', '{broken');
    expect(await coordinator.call('GET', `${monitored('broken')}/explain`)).toMatchObject({
      status: 503,
      body: { errorCode: 'METADATA_CORRUPT' },
    });
  });
});
