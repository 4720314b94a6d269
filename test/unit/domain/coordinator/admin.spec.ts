import { describe, expect, it } from '@jest/globals';

import {
  onCompleteProvisioning,
  onCreateGroup,
  onDeleteGroup,
  onFenceMember,
} from '../../../../src/domain/coordinator/on-admin';
import type { ConsumerGroup, Incarnation, MemberId, StreamPrefix } from '../../../../src/domain/ids';
import type { EpochMillis } from '../../../../src/domain/time';
import { assignedShards, GroupWorld, LEASE_MS } from '../../../support/group-world';

const NEW_GROUP = {
  key: { streamPrefix: 'orders' as StreamPrefix, consumerGroup: 'billing' as ConsumerGroup },
  incarnation: 'life-2' as Incarnation,
  shardCount: 3,
  grantsFromMs: null,
};

describe('creating a group', () => {
  it('draws the first of every number from the clock, and asks for provisioning', () => {
    const world = new GroupWorld();
    expect(world.apply(onCreateGroup(NEW_GROUP)).ok).toBe(true);
    expect(world.lastEffects).toEqual([{ kind: 'PROVISION' }]);
    const { metadataVersion, groupEpoch, assignmentEpoch, lastMemberEpoch, shards } = world.metadata;
    expect([metadataVersion, groupEpoch, assignmentEpoch, lastMemberEpoch]).toEqual(
      Array(4).fill(world.nowMs),
    );
    expect(shards.map(({ lastToken }) => lastToken)).toEqual(Array(3).fill(world.nowMs));
  });

  it('goes on with a group whose provisioning was interrupted, and refuses a finished one', () => {
    const world = new GroupWorld();
    world.apply(onCreateGroup(NEW_GROUP));
    const pending = world.metadata;
    expect(world.apply(onCreateGroup(NEW_GROUP)).ok).toBe(true);
    expect(world.metadata).toBe(pending);
    world.apply(onCompleteProvisioning());
    expect(world.apply(onCreateGroup(NEW_GROUP))).toEqual({
      ok: false,
      refusal: { code: 'GROUP_ALREADY_EXISTS' },
    });
  });

  it('asks for provisioning at each tick until it is recorded', () => {
    const world = new GroupWorld();
    world.apply(onCreateGroup(NEW_GROUP));
    world.tick();
    expect(world.lastEffects).toEqual([{ kind: 'PROVISION' }]);
    world.apply(onCompleteProvisioning());
    world.tick();
    expect(world.lastEffects).toEqual([]);
  });

  it('grants nothing before members of a former life have stopped', () => {
    const world = new GroupWorld();
    const grantsFromMs = (world.nowMs + 5_000) as EpochMillis;
    world.apply(onCreateGroup({ ...NEW_GROUP, grantsFromMs }));
    world.apply(onCompleteProvisioning());
    const a = world.member('a');
    expect(assignedShards(a.join())).toEqual([]);
    world.nowMs = grantsFromMs - 1;
    world.tick();
    expect(assignedShards(a.beat())).toEqual([]);
    world.nowMs = grantsFromMs;
    world.tick();
    expect(assignedShards(a.beat())).toEqual([0, 1, 2]);
  });
});

describe('deleting a group', () => {
  it('refuses while members are live, unless forced, and then says when they have stopped', () => {
    const world = GroupWorld.withShards(1);
    world.member('a').join();
    const refusal = { code: 'LIVE_MEMBERS_PRESENT', liveMembers: 1 };
    expect(world.apply(onDeleteGroup({ force: false, expectedVersion: null }))).toEqual({
      ok: false,
      refusal,
    });
    const deleted = world.apply(onDeleteGroup({ force: true, expectedVersion: null }));
    expect(deleted).toMatchObject({ ok: true, value: { leasesEndMs: world.nowMs + LEASE_MS } });
    expect(world.state.metadata).toBeNull();
  });

  it('does not count members whose lease is over', () => {
    const world = GroupWorld.withShards(1);
    world.member('a').join();
    world.advance(LEASE_MS);
    expect(world.apply(onDeleteGroup({ force: false, expectedVersion: null })).ok).toBe(true);
  });

  it('refuses another version than the expected one, with the recorded one', () => {
    const world = GroupWorld.withShards(1);
    const currentVersion = world.metadata.metadataVersion;
    const outcome = world.apply(onDeleteGroup({ force: true, expectedVersion: currentVersion - 1 }));
    expect(outcome).toEqual({ ok: false, refusal: { code: 'STATE_CONFLICT', currentVersion } });
    expect(world.apply(onDeleteGroup({ force: true, expectedVersion: currentVersion })).ok).toBe(true);
  });
});

describe('a group that is created again while members of its former life may read', () => {
  const recreate = (world: GroupWorld, grantsFromMs: number) => {
    const { streamPrefix, consumerGroup } = world.metadata;
    world.state = { metadata: null, leases: new Map() };
    const key = { streamPrefix, consumerGroup };
    const group = { key, incarnation: 'life-2' as Incarnation, shardCount: 1 };
    world.apply(onCreateGroup({ ...group, grantsFromMs: grantsFromMs as EpochMillis }));
    world.apply(onCompleteProvisioning());
  };

  // The Redis clock jumped ahead: a deadline that seems over is not.
  it('does not grant by the recorded end of their leases in a quiet period', () => {
    const world = GroupWorld.withShards(1);
    recreate(world, world.nowMs + LEASE_MS);
    world.mayEndTenures = false;
    world.advance(LEASE_MS);
    const a = world.member('a');
    expect(a.join().assigned).toEqual([]);
    world.mayEndTenures = true;
    expect(assignedShards(a.beat())).toEqual([0]);
  });

  // Found by the simulation: a deletion commits between the look at the group and its creation.
  it('waits a whole lease when the group was there when its creation was asked for', () => {
    const world = GroupWorld.withShards(1);
    world.state = { metadata: null, leases: new Map() };
    world.apply(onCreateGroup({ ...NEW_GROUP, wasThere: true }));
    expect(world.metadata.grantsFromMs).toBe(world.nowMs + LEASE_MS);
  });

  // Found by the simulation: created, the clock jumps, deleted, created, all within one lease of the first life.
  it('is not forgotten by a deletion in a quiet period, though its recorded end seems over', () => {
    const world = GroupWorld.withShards(1);
    recreate(world, world.nowMs + LEASE_MS);
    world.mayEndTenures = false;
    world.advance(2 * LEASE_MS);
    const outcome = world.apply(onDeleteGroup({ force: false, expectedVersion: null }));
    expect(outcome).toMatchObject({ ok: true, value: { leasesEndMs: world.nowMs + LEASE_MS } });
  });

  it('waits a whole lease when it is created in a quiet period, though the recorded end is over', () => {
    const world = GroupWorld.withShards(1);
    world.mayEndTenures = false;
    recreate(world, world.nowMs - 1);
    world.mayEndTenures = true;
    const a = world.member('a');
    a.join();
    world.pass(LEASE_MS - 1, [a]);
    expect(a.beat().assigned).toEqual([]);
    world.advance(1);
    expect(assignedShards(a.beat())).toEqual([0]);
  });
});

describe('fencing a member by an operator', () => {
  it('blocks its shards until its recorded lease ends, in a quiet period for a whole one', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    const b = world.member('b');
    a.join();
    world.advance(5_000);
    b.join();
    world.apply(onFenceMember({ memberId: 'a' as MemberId, expectedVersion: null }));
    expect(a.beat().status).toBe('FENCED_MEMBER_EPOCH');
    world.advance(LEASE_MS - 5_001);
    expect(assignedShards(b.beat())).toEqual([]);
    world.advance(1);
    expect(assignedShards(b.beat())).toEqual([0]);
  });

  it('does not know a member that is not recorded', () => {
    const world = GroupWorld.withShards(1);
    const outcome = world.apply(onFenceMember({ memberId: 'ghost' as MemberId, expectedVersion: null }));
    expect(outcome).toEqual({ ok: false, refusal: { code: 'MEMBER_NOT_FOUND' } });
  });
});
