import { beforeEach, describe, expect, it } from '@jest/globals';
import { lookAtGroup } from '../../../src/metrics/group-look';
import { GroupTally } from '../../../src/metrics/group-tally';
import type { EpochMillis } from '../../../src/domain/time';
import { DRAIN_MS, GroupWorld, LEASE_MS } from '../../support/group-world';

const KEEP_MS = 30_000;

function lookAt(world: GroupWorld) {
  const { timing } = world.context();
  return lookAtGroup(world.metadata, world.state.leases, { nowMs: world.nowMs as EpochMillis, timing });
}

/** `a` drains a shard for `b`. */
function drainingWorld() {
  const world = GroupWorld.withShards(2);
  const a = world.member('a');
  a.join();
  a.beat();
  const b = world.member('b');
  b.join();
  const moving = a.beat().revoking.map(Number);
  return { world, a, b, moving };
}

describe('a look at a group', () => {
  it('counts members and open drains, with their ages', () => {
    const { world } = drainingWorld();
    world.advance(2_000);
    expect(lookAt(world)).toEqual({
      state: 'RECONCILING',
      members: new Map([
        ['ACTIVE', 1],
        ['STARTING', 1],
      ]),
      heartbeatAgesMs: [2_000, 2_000],
      shortestLeaseMs: LEASE_MS - 2_000,
      revokingShards: 1,
      oldestDrainAgeMs: 2_000,
      blockedShards: 0,
      conflictedShards: 0,
      ungrantedShards: 0,
      isUnprovisioned: false,
      roundAgeMs: null,
      membersToTell: 0,
    });
  });

  it('counts blocks, and what a correction round leaves open', () => {
    const { world, a, b, moving } = drainingWorld();
    const before = world.state;
    a.beat({ revoked: moving });
    b.beat();
    world.advance(10); // versions are drawn from the clock: the round's is above all that was lost
    world.rollBack(before);
    b.beat();
    expect(lookAt(world)).toMatchObject({ conflictedShards: 1, roundAgeMs: 0, membersToTell: 2 });
    world.advance(500);
    expect(lookAt(world)).toMatchObject({ roundAgeMs: 500 });

    const other = drainingWorld();
    const endMs = other.world.nowMs + DRAIN_MS;
    for (; other.world.nowMs + LEASE_MS / 3 < endMs; other.world.advance(LEASE_MS / 3)) {
      other.a.beat({ draining: other.moving });
      other.b.beat();
    }
    other.world.nowMs = endMs;
    other.world.tick();
    expect(lookAt(other.world)).toMatchObject({
      blockedShards: 2,
      revokingShards: 0,
      oldestDrainAgeMs: null,
    });
  });

  it('counts what is not granted', () => {
    const world = GroupWorld.withShards(3);
    world.mayGrant = false;
    world.member('a').join();
    expect(lookAt(world)).toMatchObject({ state: 'ASSIGNING', ungrantedShards: 3 });
  });
});

describe('the tally of groups', () => {
  let nowMs = 0;
  let tally: GroupTally;
  beforeEach(() => {
    nowMs = 1_000;
    tally = new GroupTally(() => nowMs);
  });

  it('is all zero without groups, with a count for every state', () => {
    const { groups, members, unreadable, ...rest } = tally.totals();
    expect([...groups.values(), ...members.values(), ...unreadable.values()].every((n) => n === 0)).toBe(
      true,
    );
    expect([groups.size, members.size, unreadable.size]).toEqual([4, 5, 2]);
    expect(rest).toMatchObject({ shortestLeaseMs: null, oldestDrainAgeMs: null, revokingShards: 0 });
  });

  it('adds groups up; what is open ages on between looks, leases do not', () => {
    const { world } = drainingWorld();
    tally.looked('orders:a', lookAt(world), KEEP_MS);
    world.advance(1_000);
    tally.looked('orders:b', lookAt(world), KEEP_MS);
    nowMs += 5_000;
    const totals = tally.totals();
    expect(totals).toMatchObject({
      revokingShards: 2,
      oldestDrainAgeMs: 6_000,
      shortestLeaseMs: LEASE_MS - 1_000,
    });
    expect(totals.groups.get('RECONCILING')).toBe(2);
    expect(totals.members.get('ACTIVE')).toBe(2);
  });

  it('leaves out what was not looked at for long, and what is gone; a later look replaces an earlier one', () => {
    const { world } = drainingWorld();
    tally.looked('orders:a', lookAt(world), KEEP_MS);
    tally.unreadable('orders:b', 'CORRUPT', KEEP_MS);
    tally.looked('orders:c', lookAt(world), KEEP_MS);
    tally.gone('orders:c');
    expect(tally.totals().groups.get('RECONCILING')).toBe(1);
    expect(tally.totals().unreadable.get('CORRUPT')).toBe(1);
    tally.unreadable('orders:a', 'SCHEMA_UNSUPPORTED', KEEP_MS);
    expect(tally.totals().groups.get('RECONCILING')).toBe(0);
    nowMs += KEEP_MS;
    const { unreadable } = tally.totals();
    expect([...unreadable.values()]).toEqual([0, 0]);
  });

  it('forgets the one that was looked at longest ago when there are too many', () => {
    for (let index = 0; index <= 50_000; index += 1) tally.unreadable(`g:${index}`, 'CORRUPT', KEEP_MS);
    expect(tally.totals().unreadable.get('CORRUPT')).toBe(50_000);
  });
});
