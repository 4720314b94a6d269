import { describe, expect, it } from '@jest/globals';

import type { InstanceId } from '../../../../src/domain/ids';
import { assignedShards, GroupWorld, LEASE_MS } from '../../../support/group-world';

describe('join', () => {
  it('gives every shard to the first member, in the answer to its join', () => {
    const world = GroupWorld.withShards(4);
    const view = world.member('a').join();
    expect(assignedShards(view)).toEqual([0, 1, 2, 3]);
    expect(world.metadata.members.get('a' as never)?.state).toBe('STARTING');
  });

  it('moves exactly half to the second member, and gives it nothing before it is released', () => {
    const world = GroupWorld.withShards(4);
    const a = world.member('a');
    const b = world.member('b');
    a.join();
    a.beat();
    const joined = b.join();
    expect(assignedShards(joined)).toEqual([]);
    expect(joined.pending).toHaveLength(2);
    const told = a.beat();
    expect(told.revoking).toEqual(joined.pending);
    expect(assignedShards(told)).toHaveLength(2);
    a.beat({ revoked: told.revoking });
    expect(assignedShards(b.beat())).toEqual(joined.pending);
  });

  it('treats the same instance joining again as a repeat: one member, one epoch, a renewed lease, nothing else', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    const first = a.join();
    const before = world.metadata;
    world.advance(1_000);
    expect(a.join()).toEqual(first);
    expect(world.metadata).toBe(before);
    expect(world.state.leases.get('a' as never)).toBe(world.nowMs + LEASE_MS);
  });

  it('gives another instance a new epoch, and keeps the shards of the former one blocked until its lease ends', () => {
    const world = GroupWorld.withShards(2);
    const first = world.member('a');
    first.join();
    const leaseEndMs = world.nowMs + LEASE_MS;
    world.advance(1_000);
    const second = world.member('a');
    const view = second.join({ instanceId: 'a-2' as InstanceId });
    expect(view.memberEpoch).toBeGreaterThan(first.epoch);
    expect(assignedShards(view)).toEqual([]);
    expect(first.beat().status).toBe('FENCED_MEMBER_EPOCH');
    world.nowMs = leaseEndMs - 1;
    expect(assignedShards(second.beat())).toEqual([]);
    world.nowMs = leaseEndMs;
    world.tick();
    expect(assignedShards(second.beat())).toEqual([0, 1]);
  });

  it('blocks nothing when the newcomer names the recorded epoch: the same process, which has stopped', () => {
    const world = GroupWorld.withShards(2);
    const first = world.member('a');
    first.join();
    const view = world.member('a').join({ instanceId: 'a-2' as InstanceId, previousEpoch: first.epoch });
    expect(assignedShards(view)).toEqual([0, 1]);
  });

  it('blocks on a previousEpoch that is not the recorded one', () => {
    const world = GroupWorld.withShards(2);
    const first = world.member('a');
    first.join();
    const view = world.member('a').join({ instanceId: 'a-2' as InstanceId, previousEpoch: first.epoch - 1 });
    expect(assignedShards(view)).toEqual([]);
  });

  it('never treats a join without instanceId as a repeat: two processes with one id would both read', () => {
    const world = GroupWorld.withShards(2);
    const first = world.member('a').join({ instanceId: null });
    const second = world.member('a').join({ instanceId: null });
    expect(second.memberEpoch).toBeGreaterThan(first.memberEpoch);
    expect(assignedShards(second)).toEqual([]);
  });

  it('does not let a member repeat its join out of LEAVING: it is a new tenure with the block', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    a.beat();
    a.leave({ owned: [0, 1] });
    const again = a.join();
    expect(again.memberEpoch).toBeGreaterThan(0);
    expect(assignedShards(again)).toEqual([]);
  });

  it('frees the shards of a fenced tenure at once for a newcomer that names it', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    const epoch = a.epoch;
    const b = world.member('b');
    b.join();
    a.beat(); // has seen the recorded version now
    const claim = a.beat({ owned: [0, 1, 7] });
    expect(claim.status).toBe('FENCED_MEMBER_EPOCH');
    expect(assignedShards(b.beat())).toEqual([]);
    const again = a.join({ instanceId: 'a-2' as InstanceId, previousEpoch: epoch });
    expect(again.pending.length + again.assigned.length).toBe(1);
    expect(assignedShards(b.beat())).toHaveLength(1);
  });

  it('refuses a join that lists owned shards', () => {
    const world = GroupWorld.withShards(2);
    const reply = world.member('a').reply({ memberEpoch: 0, owned: [1] });
    expect(reply).toEqual({ kind: 'REFUSED', code: 'JOIN_WITH_OWNED_SHARDS' });
    expect(world.metadata.members.size).toBe(0);
  });

  it('does not make a member without capacity eligible, and notices when that changes', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join({ maxConcurrency: 0 });
    expect(world.targetOf('a')).toEqual([]);
    expect(assignedShards(a.beat({ maxConcurrency: 2 }))).toEqual([0, 1]);
    expect(a.beat({ maxConcurrency: 0 }).revoking).toEqual([0, 1]);
  });

  it('refuses a member beyond the limit, and makes room by forgetting the dead first', () => {
    const world = GroupWorld.withShards(2);
    world.maxMembers = 2;
    world.member('a').join();
    world.member('b').join();
    expect(world.member('c').reply({ memberEpoch: 0 })).toEqual({
      kind: 'REFUSED',
      code: 'MEMBER_LIMIT',
      maxMembers: 2,
    });
    world.advance(LEASE_MS);
    expect(world.member('c').join().status).toBe('OK');
    expect(world.metadata.members.size).toBe(2);
  });

  it('grants nothing before the streams exist', () => {
    const world = GroupWorld.withShards(2);
    world.state = { ...world.state, metadata: { ...world.metadata, provisioning: 'PENDING' } };
    const view = world.member('a').join();
    expect(assignedShards(view)).toEqual([]);
    expect(view.pending).toEqual([0, 1]);
  });

  it('draws epochs from the clock, so that none is issued again after Redis lost writes', () => {
    const world = GroupWorld.withShards(2);
    const before = world.state;
    const lost = world.member('a').join();
    world.state = before; // rolled back
    world.advance(10);
    expect(world.member('a').join({ instanceId: 'a-2' as InstanceId }).memberEpoch).toBeGreaterThan(
      lost.memberEpoch,
    );
  });
});
