import { describe, expect, it } from '@jest/globals';
import type { GroupState } from '../../../../src/domain/coordinator/decision';
import type { InstanceId, MemberId } from '../../../../src/domain/ids';
import type { FakeMember } from '../../../support/group-world';
import { assignedShards, DRAIN_MS, GroupWorld, LEASE_MS } from '../../../support/group-world';

/** `a` alone holds both shards; then, in writes that get lost, `b` joins and is given one of them. */
function lostHandover() {
  const world = GroupWorld.withShards(2);
  const a = world.member('a');
  a.join();
  a.beat();
  world.advance(1_000);
  const b = world.member('b');
  b.join();
  const beforeRelease = world.state;
  const [moving = -1] = a.beat().revoking.map(Number);
  a.beat({ revoked: [moving] });
  b.beat();
  a.beat();
  world.advance(10);
  return { world, a, b, moving, kept: 1 - moving, beforeRelease };
}

function occupancyOf(world: GroupWorld, shard: number) {
  return world.metadata.shards[shard]?.occupancy;
}

function end(world: GroupWorld, members: readonly FakeMember[]): void {
  world.pass(LEASE_MS, members);
  for (const member of members) member.beat();
}

describe('a correction round', () => {
  it('asks every member to tell: SYNC_METADATA with what Redis holds, again if the answer is lost', () => {
    const { world, a, b, moving, kept, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    const request = a.request({ owned: [kept] });
    const first = world.heartbeat(request);
    expect(first).toMatchObject({ status: 'SYNC_METADATA', assigned: [{ shard: kept }], revoking: [moving] });
    expect(world.heartbeat(request)).toEqual(first);
    expect(b.beat()).toMatchObject({ status: 'SYNC_METADATA', assigned: [], pending: [moving] });
  });

  it('keeps a shard from everyone that a member reads by a lost grant, until that member reports it gone', () => {
    const { world, a, b, moving, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    b.beat(); // still reads `moving`
    expect(world.metadata.shards[moving]?.conflicts).toMatchObject([{ memberId: 'b', untilMs: null }]);
    a.beat();
    a.beat();
    // Redis says that `a` drains it; `a` let go of it long ago, `b` has not.
    expect(occupancyOf(world, moving)).toMatchObject({ kind: 'FREE' });
    for (let third = 0; third < 4; third += 1) {
      world.advance(LEASE_MS / 3);
      a.beat();
      b.beat({ draining: [moving] });
    }
    expect(world.metadata.correction).not.toBeNull();
    expect(occupancyOf(world, moving)).toMatchObject({ kind: 'FREE' });
    expect(b.beat({ revoked: [moving] }).status).toBe('OK');
    expect(world.metadata.correction).toBeNull();
    expect(assignedShards(b.beat())).toEqual([moving]);
  });

  it('takes no REVOKED of the lost timeline for one of a drain that Redis still records', () => {
    const { world, a, moving, kept, beforeRelease } = lostHandover();
    const late = a.request({ owned: [kept], revoked: [moving] });
    world.rollBack(beforeRelease);
    world.heartbeat(late);
    expect(occupancyOf(world, moving)).toMatchObject({ kind: 'HELD', memberId: 'a' });
  });

  it('grants nothing before one lease has passed: a member whose join was lost may still read', () => {
    const world = GroupWorld.withShards(1);
    const empty = world.state;
    const lost = world.member('lost');
    lost.join();
    lost.beat(); // reads shard 0 until its lease is over
    const leaseEndMs = world.nowMs + LEASE_MS;
    world.advance(1_000);
    world.rollBack(empty);
    const b = world.member('b');
    expect(b.join()).toMatchObject({ status: 'REVOKE_PENDING', assigned: [], pending: [0] });
    while (world.metadata.correction !== null) {
      world.advance(1_000);
      b.beat();
    }
    expect(world.nowMs).toBeGreaterThanOrEqual(leaseEndMs);
    expect(assignedShards(b.beat())).toEqual([0]);
  });

  it('ends nobody for one lease, though the leases went back with the hash', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    a.beat();
    const old = world.state;
    world.pass(LEASE_MS - 1, [a]);
    world.advance(10); // the deadline that comes back with `old` is over
    world.rollBack(old);
    world.tick();
    expect(a.beat().status).toBe('SYNC_METADATA');
    a.beat();
    end(world, [a]);
    expect(a.beat()).toMatchObject({ status: 'OK', assigned: [{ shard: 0 }] });
  });

  it('starts anew when Redis goes back again, even into the middle of it', () => {
    const { world, a, b, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    a.beat();
    const middle = world.state;
    const startedAtMs = world.metadata.correction?.startedAtMs ?? 0;
    world.pass(LEASE_MS - 1_000, [a, b]);
    world.rollBack(middle);
    world.tick();
    expect(world.metadata.correction?.startedAtMs).toBe(world.nowMs);
    expect(world.metadata.correction?.startedAtMs).toBeGreaterThan(startedAtMs);
    expect(world.metadata.correction?.synced.size).toBe(0);
  });

  it('counts a heartbeat without lists as no news', () => {
    const { world, a, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    a.beat({ owned: null });
    expect(a.beat({ owned: null }).status).toBe('SYNC_METADATA');
    expect(a.beat().status).toBe('REVOKE_PENDING');
  });

  it('clears no conflict by an empty report from before the round', () => {
    const { world, b, moving, beforeRelease } = lostHandover();
    const late = b.request({ owned: [] });
    world.rollBack(beforeRelease);
    b.beat({ draining: [moving] });
    world.heartbeat(late);
    expect(world.metadata.shards[moving]?.conflicts).toHaveLength(1);
  });

  it('gives a repeated join nothing, and does not take it for having told', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    const joined: GroupState = world.state;
    world.rollBack(joined);
    const repeated = a.join();
    expect(repeated).toMatchObject({ status: 'SYNC_METADATA', assigned: [], pending: [0] });
    expect(world.metadata.correction?.synced.has('a' as MemberId)).toBe(false);
    end(world, [a]);
    expect(assignedShards(a.beat())).toEqual([0]);
  });

  it('keeps the conflict of a member that is replaced until its recorded lease has ended', () => {
    const { world, a, b, moving, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    b.beat();
    const other = world.member('b');
    world.advance(1_000);
    other.join({ instanceId: 'another process' as InstanceId });
    const untilMs = world.metadata.shards[moving]?.conflicts[0]?.untilMs ?? 0;
    expect(untilMs).toBeGreaterThanOrEqual(world.nowMs + LEASE_MS - 1_000);
    while (world.metadata.correction !== null) {
      world.advance(1_000);
      a.beat();
      other.beat();
    }
    expect(world.nowMs).toBeGreaterThanOrEqual(untilMs);
  });

  // Each join of a client without instanceId begins a new tenure and excludes the one before.
  it('is not kept open by a member that joins again and again', () => {
    const { world, a, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    const restless = world.member('restless');
    for (let third = 0; third < 4; third += 1) {
      a.beat();
      restless.join({ instanceId: null });
      world.advance(LEASE_MS / 3);
    }
    a.beat(); // `b` is silent, and has expired by now
    expect(world.metadata.correction).toBeNull();
  });

  it('fences who does not tell, or drains for ever, after two leases and the rebalance timeout', () => {
    const { world, a, b, moving, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    const startedAtMs = world.nowMs;
    a.beat();
    let fencedAtMs = 0;
    while (world.metadata.correction !== null) {
      world.advance(LEASE_MS / 3);
      a.beat();
      const status = fencedAtMs > 0 ? null : b.beat({ owned: [], draining: [moving] }).status;
      if (status === 'FENCED_MEMBER_EPOCH') fencedAtMs = world.nowMs;
    }
    expect(fencedAtMs).toBe(startedAtMs + 2 * LEASE_MS + DRAIN_MS);
    expect(world.nowMs).toBeGreaterThanOrEqual(fencedAtMs + (LEASE_MS * 2) / 3);
    expect(assignedShards(a.beat()).sort()).toEqual([0, 1]);
  });

  // Found by exploration: the conflict of its former tenure fenced a newcomer in its own join, again and again.
  it('fences nobody for what a former tenure of the same member goes on with', () => {
    const { world, a, b, moving, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    for (let third = 0; third < 18; third += 1) {
      a.beat();
      if (b.beat({ owned: [], draining: [moving] }).status === 'FENCED_MEMBER_EPOCH') break;
      world.advance(LEASE_MS / 3);
    }
    expect(world.metadata.shards[moving]?.conflicts).toMatchObject([{ memberId: 'b' }]);
    b.reading = [];
    expect(b.join({ instanceId: null }).status).toBe('REVOKE_PENDING');
    expect(b.beat().status).toBe('REVOKE_PENDING');
    end(world, [a, b]);
    expect(world.metadata.correction).toBeNull();
  });

  it('gives held shards tokens above those of lost grants', () => {
    const { world, a, b, moving, beforeRelease } = lostHandover();
    const lostToken = b.view?.assigned[0]?.token ?? 0;
    world.rollBack(beforeRelease);
    a.beat();
    expect(world.metadata.shards[moving]?.lastToken).toBeGreaterThan(lostToken);
  });

  it('lets a LEAVING member go only when it has told', () => {
    const { world, a, b, moving, beforeRelease } = lostHandover();
    world.rollBack(beforeRelease);
    a.beat();
    a.beat();
    b.leave({ previousEpoch: b.epoch, owned: [], draining: [moving] });
    expect(world.metadata.members.get('b' as MemberId)?.state).toBe('LEAVING');
    world.advance(1_000);
    b.leave({ previousEpoch: b.epoch, owned: [], revoked: [moving] });
    expect(world.metadata.members.has('b' as MemberId)).toBe(false);
    end(world, [a]);
    expect(world.metadata.correction).toBeNull();
    expect(assignedShards(a.beat()).sort()).toEqual([0, 1]);
  });

  it('takes no leave of a lost timeline without identity for one of the recorded tenure', () => {
    const { world, a, beforeRelease } = lostHandover();
    const lost = a.version;
    world.rollBack(beforeRelease);
    a.leave({ metadataVersion: lost, owned: [], instanceId: null });
    expect(world.metadata.members.get('a' as MemberId)?.state).toBe('ACTIVE');
  });

  it('answers a client below Redis with a version of this history as usual', () => {
    const { world, a, b } = lostHandover();
    const old = world.metadata.recentVersions[1] ?? 0;
    expect(a.reply({ owned: null, metadataVersion: old })).toMatchObject({ status: 'OK' });
    expect(b.reply({ owned: null, metadataVersion: 1 })).toMatchObject({ status: 'OK' });
    expect(world.metadata.correction).toBeNull();
  });
});
