import { describe, expect, it } from '@jest/globals';
import { onFenceMember } from '../../../../src/domain/coordinator/on-admin';
import { groupState } from '../../../../src/domain/group/derived-state';
import type { InstanceId, MemberId } from '../../../../src/domain/ids';
import type { MemberState } from '../../../../src/domain/membership/member';
import { assignedShards, type FakeMember, GroupWorld, LEASE_MS } from '../../../support/group-world';

describe('a group whose members go', () => {
  it('is EMPTY when the last one leaves, and again when the last one expires', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    a.beat();
    a.leave({ owned: [], revoked: [0, 1] });
    expect(groupState(world.metadata)).toBe('EMPTY');
    expect(world.metadata.shards.map(({ target }) => target)).toEqual([null, null]);
    world.member('b').join();
    expect(groupState(world.metadata)).toBe('STABLE');
    world.advance(LEASE_MS);
    world.tick();
    expect(groupState(world.metadata)).toBe('EMPTY');
    expect(world.metadata.shards.map(({ target }) => target)).toEqual([null, null]);
  });
});

describe('a member that is fenced', () => {
  const fence = (world: GroupWorld): void => {
    world.apply(onFenceMember({ memberId: 'a' as MemberId, expectedVersion: null }));
  };
  const states: readonly (readonly [MemberState, (a: FakeMember) => void])[] = [
    ['STARTING', () => undefined],
    ['ACTIVE', (a) => a.beat()],
    [
      'LEAVING',
      (a) => {
        a.beat();
        a.leave({ owned: [0], revoked: [] });
      },
    ],
  ];
  it.each(states)('as %s rejoins: a new tenure, nothing before the old lease is over', (state, bring) => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    bring(a);
    expect(world.metadata.members.get('a' as MemberId)?.state).toBe(state);
    const former = a.epoch;
    const leaseEndMs = world.nowMs + LEASE_MS;
    fence(world);
    expect(a.reply({ memberEpoch: former }).kind).toBe('ANSWER');
    expect(a.beat({ memberEpoch: former }).status).toBe('FENCED_MEMBER_EPOCH');
    world.advance(1_000);
    const again = a.join({ instanceId: 'a-2' as InstanceId });
    expect(again.memberEpoch).toBeGreaterThan(former);
    expect(assignedShards(again)).toEqual([]);
    world.nowMs = leaseEndMs - 1;
    expect(assignedShards(a.beat())).toEqual([]);
    world.nowMs = leaseEndMs;
    expect(assignedShards(a.beat())).toEqual([0]);
  });

  it('as EXPIRED, or forgotten by now, rejoins: a new tenure that is given what is free', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    const former = a.epoch;
    world.advance(LEASE_MS);
    world.tick();
    expect(a.beat().status).toBe('FENCED_MEMBER_EPOCH');
    const again = a.join({ instanceId: 'a-2' as InstanceId });
    expect(again.memberEpoch).toBeGreaterThan(former);
    expect(assignedShards(again)).toEqual([0]);
  });
});

describe('a drain of several shards', () => {
  it('is granted in parts: each shard as soon as it is let go, the others stay pending', () => {
    const world = GroupWorld.withShards(4);
    const [a, b] = [world.member('a'), world.member('b')];
    a.join();
    a.beat();
    b.join();
    const [first = -1, second = -1] = a.beat().revoking.map(Number);
    a.beat({ revoked: [first], draining: [second] });
    expect(b.beat()).toMatchObject({ assigned: [{ shard: first }], pending: [second] });
    a.beat({ revoked: [second] });
    expect(assignedShards(b.beat()).sort()).toEqual([first, second].sort());
  });

  it('whose holder expires in the middle of it is over with its lease: nothing waits for a deadline', () => {
    const world = GroupWorld.withShards(2);
    const [a, b] = [world.member('a'), world.member('b')];
    a.join();
    a.beat();
    world.advance(1_000);
    b.join();
    const [moving = -1] = a.beat().revoking.map(Number);
    const leaseEndMs = world.nowMs + LEASE_MS;
    world.advance(LEASE_MS - 1);
    expect(b.beat()).toMatchObject({ assigned: [], pending: [moving] });
    world.nowMs = leaseEndMs;
    expect(assignedShards(b.beat())).toEqual([0, 1]);
  });

  it('keeps its deadline when a new coordinator takes over: it is recorded', () => {
    const world = GroupWorld.withShards(2);
    const [a, b] = [world.member('a'), world.member('b')];
    a.join();
    a.beat();
    b.join();
    const drainOf = (): unknown =>
      world.metadata.shards.map(({ occupancy }) => (occupancy.kind === 'HELD' ? occupancy.drain : null));
    const recorded = drainOf();
    world.remembered = null; // a coordinator that has seen nothing of it
    world.mayEndTenures = false; // and lets one lease pass first
    world.pass(LEASE_MS, [b]);
    a.beat({ draining: [1] });
    expect(drainOf()).toEqual(recorded);
    expect(drainOf()).toEqual([null, expect.objectContaining({ deadlineMs: expect.any(Number) })]);
  });
});
