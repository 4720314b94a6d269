import { beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '../../../src/http/api-error';
import { KEY, type Coordinator } from '../critical-section/section-world';
import { LEASE_MS, recorded, ScenarioWorld, type ScenarioMember } from './scenario-world';

const KEY_TEXT = `${KEY.streamPrefix}:${KEY.consumerGroup}`;

let world: ScenarioWorld;
let old: Coordinator;
let next: Coordinator;
let a: ScenarioMember;
let b: ScenarioMember;

/** `a` reads both shards; `b` has joined and waits for shard 1, which `a` has not been told yet. */
beforeEach(async () => {
  world = new ScenarioWorld();
  old = world.coordinator();
  next = world.coordinator();
  await old.createGroup(2);
  [a, b] = [world.member('a'), world.member('b')];
  await a.beat(old);
  await a.beat(old);
  await b.beat(old);
  expect([...a.reading]).toEqual([0, 1]);
  expect((await recorded(world)).shards[1]).toMatchObject({ target: 'b', occupancy: { memberId: 'a' } });
});

/** From here on `a` reads 0 and `b` reads 1. */
async function handOver(at: Coordinator): Promise<void> {
  await a.beat(at);
  a.drained(1);
  await a.beat(at);
  await b.beat(at);
  expect([[...a.reading], [...b.reading]]).toEqual([[0], [1]]);
}

describe('a drain', () => {
  it('DRAIN recorded, answer lost: the next heartbeat gets the same DRAIN', async () => {
    await a.beat(old, 'ANSWER_LOST');
    expect([...a.reading]).toEqual([0, 1]);
    const version = (await recorded(world)).metadataVersion;
    const told = await a.beat(next);
    expect(told?.assignment).toMatchObject({
      assignedShards: [{ shardIndex: 0 }],
      revokingShards: [{ shardIndex: 1 }],
    });
    expect(told?.metadataVersion).toBe(version);
    expect([[...a.reading], [...a.draining]]).toEqual([[0], [1]]);
  });

  it('DRAIN delivered, coordinator gone: the consumer keeps the shard revoking, and never reads it again', async () => {
    await a.beat(old);
    expect([...a.draining]).toEqual([1]);
    const goneAtMs = world.nowMs;
    while (a.reading.size > 0) {
      await a.beat(old, 'UNREACHABLE');
      if (a.reading.size === 0) break; // the lease is over
      expect(a.lastSent?.body.revokingShards).toEqual([
        { shard: { shardIndex: 1 }, state: 'DRAINING', inFlight: 1 },
      ]);
      expect([[...a.reading], [...a.draining]]).toEqual([[0], [1]]);
    }
    expect(world.nowMs - goneAtMs).toBeGreaterThanOrEqual(LEASE_MS - 1);
    expect(a.mayWork).toBe(false);
  });

  it('REVOKED recorded, answer lost: the next heartbeat of the new owner gets the shard', async () => {
    await a.beat(old);
    a.drained(1);
    await a.beat(old, 'ANSWER_LOST');
    await b.beat(next);
    expect([...b.reading]).toEqual([1]);
    await a.beat(next);
    expect([[...a.reading], [...a.draining]]).toEqual([[0], []]);
  });

  it('the owner expires while it drains: the new owner gets the shard after that, not before', async () => {
    await a.beat(old);
    const leaseEndMs = world.nowMs + LEASE_MS;
    await world.beatUntil(() => b.reading.size > 0, old, [b]);
    expect(world.nowMs).toBeGreaterThanOrEqual(leaseEndMs);
    a.tick();
    expect(a.mayWork).toBe(false);
    await world.beatUntil(() => b.reading.size === 2, old, [b]);
  });

  it('the old coordinator crashes: a new one continues the rebalance from what Redis has recorded', async () => {
    old.after = (call) => (call === 'commitAndUnlock' ? new Promise(() => undefined) : undefined);
    await a.beat(next); // the DRAIN that `old` recorded
    expect([...a.draining]).toEqual([1]);
    a.drained(1);
    const sent = await a.send();
    a.exchange(old, sent).catch(() => undefined); // `old` dies after its write
    await world.clock.advance(0);
    expect((await recorded(world)).shards[1]?.occupancy).toMatchObject({ kind: 'HELD', memberId: 'b' });
    const third = world.coordinator();
    await b.beat(third);
    expect([...b.reading]).toEqual([1]);
  });
});

describe('metadata that is deleted', () => {
  it('the key is gone: the coordinator fails closed, and no heartbeat brings the group back', async () => {
    world.node.groups = new Map();
    for (const coordinator of [old, next]) {
      for (const member of [a, world.member('c')]) {
        const refused = await member.exchange(coordinator, await member.send());
        expect(refused).toBeInstanceOf(ApiError);
        expect(refused).toMatchObject({ code: 'GROUP_NOT_FOUND' });
        member.lose();
      }
      await world.tick(coordinator);
    }
    expect(world.node.groups.has(KEY_TEXT)).toBe(false);
    await world.clock.advance(LEASE_MS);
    a.tick();
    expect(a.mayWork).toBe(false);
  });
});

describe('Redis that lost writes', () => {
  /** The handover to `b` is lost, by a Redis that looks the same; `next` has no memory of it. */
  async function loseHandover(): Promise<number> {
    const snapshot = world.node.snapshot();
    await handOver(old);
    const lostVersion = (await recorded(world)).metadataVersion;
    world.node.restore(snapshot);
    expect((await recorded(world)).metadataVersion).toBeLessThan(lostVersion);
    return lostVersion;
  }

  it('version N seen, Redis back at N-1: the next heartbeat gets SYNC_METADATA', async () => {
    const lostVersion = await loseHandover();
    const told = await b.beat(next);
    expect(b.lastSent?.body.metadataVersion).toBe(lostVersion);
    expect(told).toMatchObject({ status: 'SYNC_METADATA', assignment: { assignedShards: [] } });
    expect(told?.metadataVersion).toBeGreaterThan(lostVersion); // the round has a version of its own
    expect([[...b.reading], [...b.draining]]).toEqual([[], [1]]);
  });

  it('SYNC_METADATA lost on its way: the next heartbeat with a high version gets the same SYNC_METADATA', async () => {
    const lostVersion = await loseHandover();
    const first = await b.exchange(next, await b.send());
    b.lose();
    const second = await b.beat(old);
    expect(b.lastSent?.body.metadataVersion).toBe(lostVersion);
    expect(second?.status).toBe('SYNC_METADATA');
    expect(first).toEqual({ ...second, responseTo: expect.any(String) });
  });

  it('after SYNC_METADATA: REVOKE_PENDING until the removed shard is REVOKED and nobody blocks, then OK', async () => {
    await loseHandover();
    const statuses: (string | undefined)[] = [];
    const startedAtMs = world.nowMs;
    for (const member of [b, a]) statuses.push((await member.beat(next))?.status);
    expect(statuses).toEqual(['SYNC_METADATA', 'SYNC_METADATA']);
    while (world.nowMs < startedAtMs + 2 * LEASE_MS) {
      for (const member of [b, a]) expect((await member.beat(next))?.status).toBe('REVOKE_PENDING');
      await world.tick(next);
      expect([...b.draining]).toEqual([1]);
      expect((await recorded(world)).shards[1]?.conflicts).toMatchObject([{ memberId: 'b' }]);
    }
    b.drained(1);
    await world.beatUntil(() => a.lastAnswer?.status === 'OK' && b.lastAnswer?.status === 'OK', next, [b, a]);
    await world.beatUntil(() => a.reading.size === 1 && b.reading.size === 1, next, [b, a]);
    expect((await recorded(world)).correction).toBeNull();
  });

  it('several consumers report stale revokes at once: only those that match recorded ownership count', async () => {
    await loseHandover();
    const answers = Promise.all([a.exchange(old, await revokedBy(a)), b.exchange(next, await revokedBy(b))]);
    await world.clock.advance(200); // one of the two waits for the lock
    expect(await answers).toMatchObject([{ status: 'SYNC_METADATA' }, { status: 'SYNC_METADATA' }]);
    expect(await occupancies()).toMatchObject([
      { kind: 'HELD', memberId: 'a', drain: null },
      { kind: 'HELD', memberId: 'a', drain: {} },
    ]);
    for (const member of [a, b]) member.lose();
    for (let beats = 0; beats < 2; beats += 1) for (const member of [a, b]) await member.beat(next);
    // What `a` tells in the round counts: it does not read 1, which Redis says that it drains. `b` still drains it.
    expect(await occupancies()).toMatchObject([{ kind: 'HELD', memberId: 'a' }, { kind: 'FREE' }]);
    b.drained(1);
    await world.beatUntil(() => a.reading.has(0) && b.reading.has(1), next, [a, b]);
  });

  /** Its next request, in which it says that it let go of both shards. */
  async function revokedBy(member: ScenarioMember) {
    const sent = await member.send();
    const revokingShards = [0, 1].map((shardIndex) => ({
      ...{ shard: { shardIndex }, state: 'REVOKED' as const, inFlight: 0 },
    }));
    return { ...sent, body: { ...sent.body, ownedShards: [], revokingShards } };
  }

  async function occupancies() {
    return (await recorded(world)).shards.map(({ occupancy }) => occupancy);
  }
});
