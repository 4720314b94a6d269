import { describe, expect, it } from '@jest/globals';
import type { GroupState } from '../../../src/domain/coordinator/decision';
import { onFenceMember } from '../../../src/domain/coordinator/on-admin';
import type { InstanceId, MemberId } from '../../../src/domain/ids';
import type { EpochMillis } from '../../../src/domain/time';
import { tenureChanges } from '../../../src/metrics/tenure-changes';
import { DRAIN_MS, GroupWorld, LEASE_MS } from '../../support/group-world';

/** What one step did to the tenures of a group. */
function changesOf(world: GroupWorld, step: () => void, commands: readonly string[] = ['heartbeat']) {
  const before: GroupState = world.state;
  step();
  const { timing } = world.context();
  const nowMs = world.nowMs as EpochMillis;
  return tenureChanges({ before, after: world.state, commands, nowMs, timing });
}

function joinedWorld() {
  const world = GroupWorld.withShards(2);
  const a = world.member('a');
  a.join();
  a.beat();
  world.advance(1_000);
  return { world, a };
}

describe('the tenures that a write begins and ends', () => {
  it('are none when only shards or leases move', () => {
    const { world, a } = joinedWorld();
    expect(changesOf(world, () => a.beat())).toEqual({ joins: [], ends: [] });
  });

  it('JOINED, REJOINED and REPLACED', () => {
    const { world } = joinedWorld();
    expect(changesOf(world, () => world.member('b').join())).toEqual({ joins: ['JOINED'], ends: [] });
    const again = (): unknown => world.member('b').join({ instanceId: 'b-2' as InstanceId });
    expect(changesOf(world, again)).toEqual({ joins: ['REJOINED'], ends: ['REPLACED'] });
  });

  it('EXPIRED, also when the member joins anew in the same write', () => {
    const { world } = joinedWorld();
    world.advance(LEASE_MS);
    const before = world.state;
    expect(changesOf(world, () => world.tick())).toEqual({ joins: [], ends: ['EXPIRED'] });
    world.state = before;
    const again = (): unknown => world.member('a').join({ instanceId: 'a-2' as InstanceId });
    expect(changesOf(world, again)).toEqual({ joins: ['REJOINED'], ends: ['EXPIRED'] });
  });

  it('LEFT, once nothing is held, and not before', () => {
    const { world, a } = joinedWorld();
    expect(changesOf(world, () => a.leave({ draining: [0], revoked: [1] }))).toEqual({ joins: [], ends: [] });
    expect(changesOf(world, () => a.leave({ revoked: [0, 1] }))).toEqual({ joins: [], ends: ['LEFT'] });
  });

  it('FENCED_DRAIN_DEADLINE', () => {
    const { world, a } = joinedWorld();
    const b = world.member('b');
    b.join();
    const moving = a.beat().revoking.map(Number);
    const endMs = world.nowMs + DRAIN_MS;
    for (; world.nowMs + LEASE_MS / 3 < endMs; world.advance(LEASE_MS / 3)) {
      a.beat({ draining: moving });
      b.beat();
    }
    world.nowMs = endMs;
    expect(changesOf(world, () => world.tick(), ['tick']).ends).toEqual(['FENCED_DRAIN_DEADLINE']);
  });

  it('FENCED_OPERATOR and FENCED_REPORT', () => {
    const { world, a } = joinedWorld();
    const b = world.member('b');
    b.join();
    b.beat();
    const claims = () => void b.reply({ memberEpoch: b.epoch, owned: [0, 1] });
    expect(changesOf(world, claims).ends).toEqual(['FENCED_REPORT']);
    a.beat();
    const fence = onFenceMember({ memberId: 'a' as MemberId, expectedVersion: null });
    expect(changesOf(world, () => void world.apply(fence), [fence.name]).ends).toEqual(['FENCED_OPERATOR']);
  });

  it('FENCED_ROUND_SILENCE', () => {
    const { world, a } = joinedWorld();
    world.rollBack(world.state);
    a.beat({ owned: null });
    const endMs = world.nowMs + 2 * LEASE_MS + DRAIN_MS;
    for (; world.nowMs + LEASE_MS / 3 < endMs; world.advance(LEASE_MS / 3)) a.beat({ owned: null });
    world.nowMs = endMs;
    expect(changesOf(world, () => world.tick(), ['tick']).ends).toEqual(['FENCED_ROUND_SILENCE']);
  });

  it('GROUP_DELETED; a group that is restored begins none', () => {
    const { world } = joinedWorld();
    const { state } = world;
    const gone = () => void (world.state = { metadata: null, leases: new Map() });
    expect(changesOf(world, gone).ends).toEqual(['GROUP_DELETED']);
    expect(changesOf(world, () => void (world.state = state))).toEqual({ joins: [], ends: [] });
  });
});
