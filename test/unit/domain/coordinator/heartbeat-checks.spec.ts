import { describe, expect, it } from '@jest/globals';

import { onHeartbeat } from '../../../../src/domain/coordinator/on-heartbeat';
import { retarget } from '../../../../src/domain/assignment/current-assignment';
import { Transition } from '../../../../src/domain/coordinator/transition';
import { assignedShards, GroupWorld, LEASE_MS, PROTOCOL } from '../../../support/group-world';

describe('the checks of a heartbeat, in order', () => {
  it('3 before 4: answers UNSUPPORTED_PROTOCOL even without a group', () => {
    const world = new GroupWorld();
    const reply = world.member('a').reply({ memberEpoch: 0, protocolVersion: 2 });
    expect(reply).toMatchObject({ kind: 'ANSWER', status: 'UNSUPPORTED_PROTOCOL', metadataVersion: 0 });
  });

  it('4: answers GROUP_NOT_FOUND and rebuilds nothing', () => {
    const world = new GroupWorld();
    expect(world.member('a').reply({ memberEpoch: 0 })).toEqual({ kind: 'REFUSED', code: 'GROUP_NOT_FOUND' });
    expect(world.state.metadata).toBeNull();
  });

  it.each(['metadataVersion', 'maxObservedVersion'])(
    '6 before 7: a join that shows a higher %s starts a round, and is given nothing',
    (field) => {
      const world = GroupWorld.withShards(1);
      const above = world.metadata.metadataVersion + 1;
      const reply = world.member('a').reply({ memberEpoch: 0, [field]: above });
      expect(reply).toMatchObject({ kind: 'ANSWER', status: 'REVOKE_PENDING', assigned: [], pending: [0] });
      expect(world.metadata.correction).toMatchObject({ cause: 'UNKNOWN_VERSION', observedVersion: above });
    },
  );

  it('9: does not know a member that never joined', () => {
    const world = GroupWorld.withShards(1);
    expect(world.member('a').reply({ memberEpoch: 5 })).toMatchObject({
      status: 'UNKNOWN_MEMBER_ID',
      assigned: [],
    });
  });

  it.each([-2, 2])('10: fences an epoch that differs by %i and renews nothing', (difference) => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    const leases = world.state.leases;
    world.advance(1_000);
    expect(a.reply({ memberEpoch: a.epoch + difference })).toMatchObject({ status: 'FENCED_MEMBER_EPOCH' });
    expect(world.state.leases).toEqual(leases);
  });

  it('11: fences a claim of a shard that was never granted to this tenure, and alerts', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    const b = world.member('b');
    a.join();
    b.join();
    expect(b.beat({ owned: b.view?.pending ?? [] }).status).toBe('FENCED_MEMBER_EPOCH');
    expect(world.lastEffects).toMatchObject([{ kind: 'ALERT', alert: 'SHARD_NEVER_GRANTED' }]);
    expect(world.metadata.members.get('b' as never)?.state).toBe('FENCED');
  });

  it('11: answers an older report from state: its view was true once', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    const version = a.version;
    a.beat();
    world.advance(1);
    world.member('b').join();
    a.beat({ revoked: a.beat().revoking });
    expect(a.beat({ owned: [0, 1], metadataVersion: version }).status).toBe('OK');
  });

  it('14: gives the same answer to the same heartbeat, and changes only the lease', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    a.beat();
    const before = world.metadata;
    const first = a.beat();
    world.advance(10);
    expect(a.beat()).toEqual(first);
    expect(world.metadata).toBe(before);
    expect(world.state.leases.get('a' as never)).toBe(world.nowMs + LEASE_MS);
  });

  it('moves the version with everything that a member is told, and only then', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    const joined = world.metadata;
    a.beat({ memberName: 'worker 1', maxConcurrency: 8 });
    expect(world.metadata).not.toBe(joined);
    expect(world.metadata.metadataVersion).toBe(joined.metadataVersion);
    world.member('b').join();
    expect(world.metadata.metadataVersion).toBeGreaterThan(joined.metadataVersion);
    expect(world.metadata.recentVersions).toContain(joined.metadataVersion);
  });

  it('remembers the last 64 versions and no more', () => {
    const world = GroupWorld.withShards(1);
    for (let i = 0; i < 100; i += 1) world.member(`m${i}`).join();
    expect(world.metadata.recentVersions).toHaveLength(64);
  });

  it('marks heartbeats of a running tenure, and only those, for the lease fast path', () => {
    const member = new GroupWorld().member('a');
    expect(onHeartbeat(member.request({ memberEpoch: 7 }), PROTOCOL).renews).toBe('a');
    expect(onHeartbeat(member.request({ memberEpoch: 0 }), PROTOCOL).renews).toBeUndefined();
    expect(onHeartbeat(member.request({ memberEpoch: -1 }), PROTOCOL).renews).toBeUndefined();
  });
});

describe('target assignment within a decision', () => {
  it('keeps what is left of the old target when the assignor fails', () => {
    const world = GroupWorld.withShards(2);
    world.member('a').join();
    const transition = new Transition(world.metadata, world.state.leases, world.context());
    retarget(transition, () => {
      throw new Error('broken assignor');
    });
    const decision = transition.decide(() => null);
    expect(decision.metadata).toBe(world.metadata);
    expect(decision.effects).toMatchObject([{ kind: 'ALERT', alert: 'ASSIGNOR_FAILED' }]);
  });

  it('is stable with more members than shards', () => {
    const world = GroupWorld.withShards(2);
    const members = ['a', 'b', 'c', 'd'].map((id) => world.member(id));
    for (const member of members) member.join();
    for (let round = 0; round < 3; round += 1)
      for (const member of members) member.beat({ revoked: member.view?.revoking.map(Number) ?? [] });
    const settled = world.metadata;
    for (let round = 0; round < 3; round += 1) for (const member of members) member.beat();
    expect(world.metadata).toBe(settled);
    expect(members.map((member) => assignedShards(member.beat()).length)).toEqual([1, 1, 0, 0]);
  });

  it.each([
    ['a', 'b', 'c'],
    ['c', 'b', 'a'],
    ['b', 'c', 'a'],
  ])('converges whichever order the releases arrive in: %s %s %s', (...order) => {
    const world = GroupWorld.withShards(9);
    const members = new Map(['a', 'b', 'c'].map((id) => [id, world.member(id)]));
    for (const member of members.values()) member.join();
    for (let round = 0; round < 4; round += 1) {
      for (const id of order) {
        const member = members.get(id);
        member?.beat({ revoked: member.view?.revoking.map(Number) ?? [] });
      }
    }
    expect([...members.keys()].map((id) => world.heldBy(id).length)).toEqual([3, 3, 3]);
  });
});
