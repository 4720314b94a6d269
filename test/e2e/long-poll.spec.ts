import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GroupWatch } from '../../src/critical-section/group-watch';
import type { HeartbeatAnswer, ProducerRouting } from '../../src/protocol';
import { type CoordinatorApp, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';

/** Longer than any test here: an answer that comes at all was not the end of the wait. */
const LONG = {
  COORD_HEARTBEAT_INTERVAL_MS: '60000',
  COORD_MEMBER_LEASE_TTL_MS: '180000',
  COORD_REBALANCE_TIMEOUT_MS: '180000',
  COORD_ROUTING_REFRESH_MS: '60000',
  COORD_ROUTING_LEASE_MS: '180000',
};
const WAIT_MS = 60_000;
const DEADLINE_MS = 10_000;

describe('a long poll across two coordinators', () => {
  let redis: RedisServer;
  let one: CoordinatorApp;
  let other: CoordinatorApp;
  let stream = '';
  let names = 0;

  beforeAll(async () => {
    redis = await startRedisServer();
    one = await startCoordinatorApp(redis.url, { ...LONG, COORD_ID: 'one' });
    other = await startCoordinatorApp(redis.url, { ...LONG, COORD_ID: 'other' });
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await redis.stop();
  });
  beforeEach(async () => {
    stream = `stream-${(names += 1)}`;
    await one.call('POST', groupPath(), { requestedBy: 'test', initialShardCount: 2 });
  });

  const groupPath = (): string => `/coord/v1/streams/${stream}/groups/g`;
  const beat = async (
    coordinator: CoordinatorApp,
    memberId: string,
    more: Record<string, unknown> = {},
    init?: RequestInit,
  ): Promise<HeartbeatAnswer> => {
    const path = `${groupPath()}/members/${memberId}/heartbeat`;
    return (await coordinator.call('POST', path, heartbeatOf(memberId, more), init)).body as HeartbeatAnswer;
  };
  const watchers = (coordinator: CoordinatorApp): number => coordinator.app.get(GroupWatch).size;
  const waiting = (coordinator: CoordinatorApp, count: number) =>
    waitUntil(`${count} long polls wait`, DEADLINE_MS, () => watchers(coordinator) === count);

  it('is answered when another coordinator moves a shard away from the member', async () => {
    const { memberEpoch, metadataVersion } = await beat(one, 'm1');
    const poll = beat(one, 'm1', { memberEpoch, metadataVersion, waitMs: WAIT_MS });
    await waiting(one, 1);
    await beat(other, 'm2');
    const woken = await poll;
    expect(woken).toMatchObject({ status: 'OK', assignment: { assignedShards: [{}], revokingShards: [{}] } });
    expect(woken.metadataVersion).toBeGreaterThan(metadataVersion);
  });

  it('is not answered by a change that tells the member nothing', async () => {
    await beat(one, 'm1');
    const { memberEpoch, metadataVersion } = await beat(one, 'm2');
    const poll = beat(one, 'm2', { memberEpoch, metadataVersion, waitMs: WAIT_MS });
    await waiting(one, 1);
    // Not eligible: the version moves, nobody's shards do.
    const capacity = { runtimeMaxConcurrency: 0, availableConcurrency: 0 };
    const bystander = await beat(other, 'm3', { runtimeConsumerCapacity: capacity });
    expect(bystander.metadataVersion).toBeGreaterThan(metadataVersion);
    // A change of its own, announced after the other one: when it wakes, the other has been looked at.
    await beat(other, 'm1', {
      memberEpoch: -1,
      metadataVersion: bystander.metadataVersion,
      ownedShards: [],
      revokingShards: [],
    });
    const woken = await poll;
    expect(woken.metadataVersion).toBeGreaterThan(bystander.metadataVersion);
    expect(woken.assignment.assignedShards).toHaveLength(2);
  });

  it('is not held for a member that has not seen the recorded version', async () => {
    const { memberEpoch, metadataVersion } = await beat(one, 'm1');
    await beat(other, 'm2');
    const answer = await beat(one, 'm1', { memberEpoch, metadataVersion, waitMs: WAIT_MS });
    expect(answer.assignment.revokingShards).toHaveLength(1);
  });

  it('is told 404 when the group is deleted meanwhile', async () => {
    const { memberEpoch, metadataVersion } = await beat(one, 'm1');
    const poll = one.call(
      'POST',
      `${groupPath()}/members/m1/heartbeat`,
      heartbeatOf('m1', { memberEpoch, metadataVersion, waitMs: WAIT_MS }),
    );
    await waiting(one, 1);
    await other.call('DELETE', groupPath(), { requestedBy: 'test', reason: 'over', force: true });
    expect(await poll).toMatchObject({ status: 404, body: { errorCode: 'GROUP_NOT_FOUND' } });
  });

  it('ends when the client goes away', async () => {
    const { memberEpoch, metadataVersion } = await beat(one, 'm1');
    const abort = new AbortController();
    const poll = beat(
      one,
      'm1',
      { memberEpoch, metadataVersion, waitMs: WAIT_MS },
      { headers: { 'content-type': 'application/json' }, signal: abort.signal },
    );
    await waiting(one, 1);
    abort.abort();
    await expect(poll).rejects.toThrow('abort');
    await waiting(one, 0);
  });

  it('holds routing until its version is news to the caller, or the group is gone', async () => {
    const path = `${groupPath()}/producer-routing`;
    const { metadataVersion } = (await one.call('GET', path)).body as ProducerRouting;
    const poll = one.call('GET', `${path}?metadataVersion=${metadataVersion}&waitMs=${WAIT_MS}`);
    await waiting(one, 1);
    await other.call('DELETE', groupPath(), { requestedBy: 'test', reason: 'over' });
    expect(await poll).toMatchObject({ status: 404 });
  });

  it('is answered at once when its coordinator terminates', async () => {
    const third = await startCoordinatorApp(redis.url, { ...LONG, COORD_ID: 'third' });
    const { memberEpoch, metadataVersion } = await beat(third, 'm1');
    const poll = beat(third, 'm1', { memberEpoch, metadataVersion, waitMs: WAIT_MS });
    await waiting(third, 1);
    await third.close();
    expect(await poll).toMatchObject({ status: 'OK', metadataVersion });
  });
});

describe('the time of a long poll', () => {
  it('is clamped to the heartbeat interval', async () => {
    const redis = await startRedisServer();
    const coordinator = await startCoordinatorApp(redis.url, { COORD_HEARTBEAT_INTERVAL_MS: '200' });
    try {
      await coordinator.call('POST', '/coord/v1/streams/s/groups/g', { requestedBy: 'test' });
      const path = '/coord/v1/streams/s/groups/g/members/m1/heartbeat';
      const joined = (await coordinator.call('POST', path, heartbeatOf('m1'))).body as HeartbeatAnswer;
      const { memberEpoch, metadataVersion } = joined;
      const startedMs = performance.now();
      const poll = heartbeatOf('m1', { memberEpoch, metadataVersion, waitMs: WAIT_MS });
      expect((await coordinator.call('POST', path, poll)).body).toMatchObject({ status: 'OK' });
      const heldMs = performance.now() - startedMs;
      expect(heldMs).toBeGreaterThanOrEqual(190);
      expect(heldMs).toBeLessThan(DEADLINE_MS);
    } finally {
      await coordinator.close();
      await redis.stop();
    }
  });
});
