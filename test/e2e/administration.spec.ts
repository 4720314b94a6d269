import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CoordinatorApp, errorOf, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

const ASKED = { requestedBy: 'test' };
const DELETION = { requestedBy: 'test', reason: 'over' };

describe('administration', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;
  let names = 0;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  const freshName = (): string => `stream-${(names += 1)}`;
  const streamPath = (stream: string): string => `/coord/v1/streams/${stream}`;
  const groupPath = (stream: string, group = 'g'): string => `${streamPath(stream)}/groups/${group}`;
  const join = (stream: string, memberId = 'm1', group = 'g') =>
    coordinator.call(
      'POST',
      `${groupPath(stream, group)}/members/${memberId}/heartbeat`,
      heartbeatOf(memberId),
    );

  it('creates a stream with its default group, and every Redis stream and group before the answer', async () => {
    const stream = freshName();
    const created = await coordinator.call('POST', streamPath(stream), { ...ASKED, initialShardCount: 3 });
    expect(created).toMatchObject({ status: 201, body: { streamPrefix: stream, shardCount: 3 } });
    for (const shard of [0, 1, 2]) {
      expect(JSON.stringify(await redis.cli('XINFO', 'GROUPS', `${stream}:${shard}`))).toContain(
        `${stream}-consumer`,
      );
    }
    expect(await redis.cli('EXISTS', `${stream}:3`)).toBe(0);
    const group = await coordinator.call('GET', groupPath(stream, `${stream}-consumer`));
    expect(group).toMatchObject({
      status: 200,
      body: { state: 'EMPTY', shardCount: 3, activeMigration: null, targetAssignmentSummary: {} },
    });
  });

  it('takes the default shard count, and reads a Redis group from the first entry', async () => {
    const stream = freshName();
    await redis.cli('XADD', `${stream}:0`, '1-1', 'k', 'v');
    const created = await coordinator.call('POST', groupPath(stream), ASKED);
    expect(created).toMatchObject({
      status: 201,
      body: { consumerGroup: 'g', shardCount: 4, state: 'EMPTY' },
    });
    expect(
      JSON.stringify(await redis.cli('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', `${stream}:0`, '>')),
    ).toContain('1-1');
  });

  it('gives a second group the shard count of the stream, and refuses one that exists', async () => {
    const stream = freshName();
    await coordinator.call('POST', groupPath(stream, 'a'), { ...ASKED, initialShardCount: 2 });
    const second = await coordinator.call('POST', groupPath(stream, 'b'), { ...ASKED, initialShardCount: 9 });
    expect(second).toMatchObject({ status: 201, body: { shardCount: 2 } });
    const again = await coordinator.call('POST', groupPath(stream, 'b'), ASKED);
    expect(again).toMatchObject({
      status: 409,
      body: { status: 'CONFLICT', errorCode: 'GROUP_ALREADY_EXISTS', retryable: false },
    });
  });

  it('refuses a stream whose default group would have no valid name, and takes one that is given', async () => {
    const stream = `a:${freshName()}`;
    const refused = await coordinator.call('POST', streamPath(stream), ASKED);
    expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'consumerGroup' }] } });
    const created = await coordinator.call('POST', streamPath(stream), { ...ASKED, consumerGroup: 'g' });
    expect(created).toMatchObject({ status: 201, body: { consumerGroup: 'g' } });
  });

  it('finishes a creation whose provisioning failed when the same request is repeated', async () => {
    const stream = freshName();
    await redis.cli('SET', `${stream}:1`, 'in the way');
    const failed = await coordinator.call('POST', groupPath(stream), ASKED);
    expect(failed).toMatchObject({ status: 503, body: { errorCode: 'REDIS_STREAM_PROVISIONING_FAILED' } });
    expect((await join(stream)).body).toMatchObject({ status: 'OK', assignment: { assignedShards: [] } });
    await redis.cli('DEL', `${stream}:1`);
    expect(await coordinator.call('POST', groupPath(stream), ASKED)).toMatchObject({ status: 201 });
    expect((await coordinator.call('GET', groupPath(stream))).body).toMatchObject({
      state: 'STABLE',
      currentAssignmentSummary: { m1: 4 },
    });
  });

  it('deletes a group, answers with it, and leaves streams and Redis groups where they are', async () => {
    const stream = freshName();
    await coordinator.call('POST', groupPath(stream), ASKED);
    const deleted = await coordinator.call('DELETE', groupPath(stream), DELETION);
    expect(deleted).toMatchObject({ status: 200, body: { streamPrefix: stream, shardCount: 4 } });
    expect(JSON.stringify(await redis.cli('XINFO', 'GROUPS', `${stream}:0`))).toContain('g');
    expect(await coordinator.call('GET', groupPath(stream))).toMatchObject({
      status: 404,
      body: { status: 'NOT_FOUND', errorCode: 'GROUP_NOT_FOUND', retryable: false },
    });
    expect(await redis.cli('KEYS', `*{${stream}*`)).toEqual([]);
  });

  it('deletes the streams where that is asked for, but not while another group reads them', async () => {
    const stream = freshName();
    await coordinator.call('POST', groupPath(stream, 'a'), ASKED);
    await coordinator.call('POST', groupPath(stream, 'b'), ASKED);
    const body = { ...DELETION, purgeStreams: true };
    const refused = await coordinator.call('DELETE', groupPath(stream, 'a'), body);
    expect(refused).toMatchObject({ status: 409, body: { details: [{ field: 'purgeStreams' }] } });
    await coordinator.call('DELETE', groupPath(stream, 'b'), DELETION);
    expect(await coordinator.call('DELETE', groupPath(stream, 'a'), body)).toMatchObject({ status: 200 });
    expect(await redis.cli('EXISTS', `${stream}:0`, `${stream}:3`)).toBe(0);
  });

  it('refuses to delete a group with live members unless forced, and grants nothing to its next life before', async () => {
    const stream = freshName();
    await coordinator.call('POST', groupPath(stream), ASKED);
    await join(stream);
    const refused = await coordinator.call('DELETE', groupPath(stream), DELETION);
    expect(refused).toMatchObject({
      status: 422,
      body: { status: 'UNPROCESSABLE_ENTITY', errorCode: 'LIVE_MEMBERS_PRESENT' },
    });
    const forced = await coordinator.call('DELETE', groupPath(stream), { ...DELETION, force: true });
    expect(forced).toMatchObject({ status: 200, body: { currentAssignmentSummary: { m1: 4 } } });
    expect(await coordinator.call('POST', groupPath(stream), ASKED)).toMatchObject({ status: 201 });
    const joined = await join(stream, 'm2');
    expect(joined.body).toMatchObject({ status: 'OK', assignment: { assignedShards: [] } });
    expect(
      (joined.body as { assignment: { pendingShards: unknown[] } }).assignment.pendingShards,
    ).toHaveLength(4);
  });

  it('does nothing when another version is recorded than the one expected, and tells which', async () => {
    const stream = freshName();
    const { body } = await coordinator.call('POST', groupPath(stream), ASKED);
    const { metadataVersion } = body as { metadataVersion: number };
    const wrong = { ...DELETION, expectedMetadataVersion: metadataVersion - 1 };
    const refused = await coordinator.call('DELETE', groupPath(stream), wrong);
    expect(refused).toMatchObject({ status: 409, body: { errorCode: 'STATE_CONFLICT', retryable: true } });
    expect(errorOf(refused).message).toContain(String(metadataVersion));
    const right = { ...DELETION, expectedMetadataVersion: metadataVersion };
    expect(await coordinator.call('DELETE', groupPath(stream), right)).toMatchObject({ status: 200 });
  });

  it('fences a member, whose next heartbeat is told so', async () => {
    const stream = freshName();
    await coordinator.call('POST', groupPath(stream), ASKED);
    const joined = (await join(stream)).body as { memberEpoch: number; metadataVersion: number };
    const memberPath = `${groupPath(stream)}/members/m1`;
    expect(await coordinator.call('DELETE', memberPath, DELETION)).toMatchObject({ status: 200 });
    const { memberEpoch, metadataVersion } = joined;
    const beat = heartbeatOf('m1', { memberEpoch, metadataVersion });
    const answer = await coordinator.call('POST', `${memberPath}/heartbeat`, beat);
    expect(answer).toMatchObject({ status: 200, body: { status: 'FENCED_MEMBER_EPOCH' } });
    const unknown = await coordinator.call('DELETE', `${groupPath(stream)}/members/m9`, DELETION);
    expect(unknown).toMatchObject({ status: 404, body: { errorCode: 'MEMBER_NOT_FOUND' } });
  });

  it('logs who asked for a mutation and why, under the request id of its outcome', async () => {
    const stream = freshName();
    const headers = { 'content-type': 'application/json', 'x-request-id': `id-${stream}` };
    await coordinator.call('DELETE', groupPath(stream), DELETION, { headers });
    const lines = coordinator.log.filter((line) => line['requestId'] === `id-${stream}`);
    expect(lines).toMatchObject([
      { context: 'Admin', action: 'delete-group', requestedBy: 'test', reason: 'over', streamPrefix: stream },
      { context: 'Access', level: 'info', method: 'DELETE', httpStatus: 404 },
    ]);
  });
});
