import { describe, expect, it } from '@jest/globals';

import { groupState } from '../../../../src/domain/group/derived-state';
import type { InstanceId } from '../../../../src/domain/ids';
import { DEFAULT_TIMING } from '../../../../src/protocol/timing';
import { assignedShards, GroupWorld, LEASE_MS } from '../../../support/group-world';

describe('lease expiry', () => {
  it('treats the exact deadline as expired, and hands the shards over in the same write', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    const b = world.member('b');
    a.join();
    a.beat();
    world.advance(5_000);
    b.join();
    world.advance(LEASE_MS - 5_000 - 1);
    world.tick();
    expect(world.heldBy('a')).toEqual([0, 1]);
    world.advance(1);
    expect(assignedShards(b.beat())).toEqual([0, 1]);
    expect(world.metadata.members.get('a' as never)?.state).toBe('EXPIRED');
  });

  it('answers a late heartbeat of the expired tenure FENCED_MEMBER_EPOCH and renews nothing', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    world.advance(LEASE_MS);
    expect(a.beat().status).toBe('FENCED_MEMBER_EPOCH');
    expect(world.state.leases.size).toBe(0);
    expect(groupState(world.metadata)).toBe('EMPTY');
  });

  it('expires, fences and frees nobody in a quiet period', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    a.beat();
    world.mayEndTenures = false;
    world.advance(10 * LEASE_MS);
    world.tick();
    expect(a.beat().status).toBe('OK');
    expect(a.beat({ owned: [0, 1, 5] }).status).toBe('OK');
    world.mayEndTenures = true;
    expect(a.beat({ owned: [0, 1, 5] }).status).toBe('FENCED_MEMBER_EPOCH');
  });

  it('blocks for a whole lease when a tenure is replaced in a quiet period: its recorded end proves nothing', () => {
    const world = GroupWorld.withShards(1);
    world.member('a').join();
    world.mayEndTenures = false;
    world.advance(LEASE_MS);
    const newcomer = world.member('a');
    newcomer.join({ instanceId: 'a-2' as InstanceId });
    const replacedAtMs = world.nowMs;
    world.mayEndTenures = true;
    world.nowMs = replacedAtMs + LEASE_MS - 1;
    expect(assignedShards(newcomer.beat())).toEqual([]);
    world.nowMs = replacedAtMs + LEASE_MS;
    expect(assignedShards(newcomer.beat())).toEqual([0]);
  });

  it('grants nothing while grants are held back, and grants at the next look', () => {
    const world = GroupWorld.withShards(1);
    world.mayGrant = false;
    const a = world.member('a');
    expect(assignedShards(a.join())).toEqual([]);
    expect(groupState(world.metadata)).toBe('ASSIGNING');
    world.mayGrant = true;
    world.tick();
    expect(assignedShards(a.beat())).toEqual([0]);
  });

  it('forgets a dead member after the retention, and then calls it unknown', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    world.advance(LEASE_MS);
    world.tick();
    world.advance(DEFAULT_TIMING.memberRetentionMs - 1);
    world.tick();
    expect(a.beat().status).toBe('FENCED_MEMBER_EPOCH');
    world.advance(1);
    world.tick();
    expect(a.beat().status).toBe('UNKNOWN_MEMBER_ID');
  });

  it('lets a fenced member rejoin, inheriting nothing but what is free', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    a.join();
    world.advance(LEASE_MS);
    a.beat();
    const again = a.join({ instanceId: 'a-2' as InstanceId });
    expect(again.memberEpoch).toBeGreaterThan(a.epoch - 1);
    expect(assignedShards(again)).toEqual([0, 1]);
  });
});

describe('leave', () => {
  it('frees what the same request reports let go, and forgets the member, in one write', () => {
    const world = GroupWorld.withShards(2);
    const a = world.member('a');
    const b = world.member('b');
    a.join();
    a.beat();
    b.join();
    const revision = world.metadata.storeRevision;
    a.leave({ revoked: [0, 1], owned: [] });
    expect(world.metadata.storeRevision).toBe(revision + 1);
    expect(world.metadata.members.has('a' as never)).toBe(false);
    expect(assignedShards(b.beat())).toEqual([0, 1]);
  });

  it('drains first what is still held, and does not let a heartbeat undo it', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    const b = world.member('b');
    a.join();
    a.beat();
    b.join();
    const left = a.leave({ owned: [0] });
    expect(left).toMatchObject({ status: 'OK', memberEpoch: -1, revoking: [0], assigned: [] });
    expect(a.beat({ draining: [0] })).toMatchObject({ status: 'OK', revoking: [0] });
    expect(world.metadata.members.get('a' as never)?.state).toBe('LEAVING');
    expect(a.beat({ revoked: [0] })).toMatchObject({ status: 'OK', assigned: [], revoking: [] });
    expect(world.metadata.members.has('a' as never)).toBe(false);
    expect(assignedShards(b.beat())).toEqual([0]);
  });

  it('renews nothing', () => {
    const world = GroupWorld.withShards(1);
    const a = world.member('a');
    a.join();
    a.beat();
    const leaseEndMs = world.state.leases.get('a' as never);
    world.advance(1_000);
    a.leave({ owned: [0] });
    expect(world.state.leases.get('a' as never)).toBe(leaseEndMs);
  });

  it('answers OK to a leave of an unknown, expired or already gone member and changes nothing', () => {
    const world = GroupWorld.withShards(1);
    const before = world.metadata;
    expect(world.member('ghost').leave().status).toBe('OK');
    expect(world.metadata).toBe(before);
    const a = world.member('a');
    a.join();
    a.leave({ owned: [] });
    const gone = world.metadata;
    expect(a.leave({ owned: [] }).status).toBe('OK');
    expect(world.metadata).toBe(gone);
  });

  it('ignores a late leave of an older tenure, by instance, by epoch, or by version', () => {
    const world = GroupWorld.withShards(1);
    const old = world.member('a');
    old.join();
    const former = { epoch: old.epoch, version: old.version };
    world.advance(LEASE_MS);
    const a = world.member('a');
    a.join({ instanceId: 'a-2' as InstanceId });
    const before = world.metadata;
    a.reply({ memberEpoch: -1, instanceId: 'a-1' as InstanceId });
    a.reply({ memberEpoch: -1, previousEpoch: former.epoch });
    a.reply({ memberEpoch: -1, metadataVersion: former.version });
    expect(world.metadata).toBe(before);
    a.reply({ memberEpoch: -1, previousEpoch: a.epoch });
    expect(world.metadata).not.toBe(before);
  });
});
