import { describe, expect, it } from '@jest/globals';
import type { MemberEpoch, MetadataVersion } from '../../../../src/domain/epochs';
import { MemberRoster } from '../../../../src/domain/group/member-roster';
import type { MemberId } from '../../../../src/domain/ids';
import type { Member } from '../../../../src/domain/membership/member';
import type { EpochMillis } from '../../../../src/domain/time';
import { GroupWorld } from '../../../support/group-world';

function memberOf(id: string, maxConcurrency = 1): Member {
  return {
    memberId: id as MemberId,
    memberName: null,
    state: 'ACTIVE',
    stateChangedAtMs: 1_000 as EpochMillis,
    memberEpoch: 7 as MemberEpoch,
    instanceId: null,
    joinedVersion: 7 as MetadataVersion,
    maxConcurrency,
    correctedAtMs: null,
    lostVersion: null,
  };
}

const mapOf = (...members: Member[]) => new Map(members.map((member) => [member.memberId, member]));
const [a, b, c] = [memberOf('a'), memberOf('b'), memberOf('c')];

describe('a roster of members', () => {
  it('answers as the map it was made of', () => {
    const map = mapOf(a, b, c);
    const roster = MemberRoster.of(map);
    expect([...roster]).toEqual([...map]);
    expect([...roster.keys()]).toEqual([...map.keys()]);
    expect([...roster.values()]).toEqual([...map.values()]);
    expect(roster.size).toBe(3);
    expect(roster.get(b.memberId)).toBe(b);
    expect(roster.has(b.memberId)).toBe(true);
    expect(roster.get('d' as MemberId)).toBeUndefined();
    expect(roster.has('d' as MemberId)).toBe(false);
    const seen: [MemberId, Member][] = [];
    roster.forEach((member, memberId) => seen.push([memberId, member]));
    expect(seen).toEqual([...map]);
  });

  it('updates a member in its place and stays as it was itself', () => {
    const roster = MemberRoster.of(mapOf(a, b, c));
    const larger = memberOf('b', 2);
    const updated = roster.withUpdated(larger);
    expect([...updated.values()]).toEqual([a, larger, c]);
    expect([...roster.values()]).toEqual([a, b, c]);
  });

  it('refuses to update a member that is not on it', () => {
    expect(() => MemberRoster.of(mapOf(a)).withUpdated(b)).toThrow('on the roster');
  });
});

describe('the members of a group', () => {
  it('survive updates, a newcomer and a leave in turn', () => {
    const world = GroupWorld.withShards(4);
    const members = ['a', 'b', 'c'].map((id) => world.member(id));
    const before = world.metadata;
    for (const member of members) member.join();
    for (const member of members) member.beat(); // STARTING to ACTIVE: updates
    world.member('d').join();
    expect([...world.metadata.members.keys()]).toEqual(['a', 'b', 'c', 'd']);
    expect([...world.metadata.members.values()].map(({ state }) => state)).toEqual([
      ...['ACTIVE', 'ACTIVE', 'ACTIVE'],
      'STARTING',
    ]);
    expect(before.members.size).toBe(0);
  });
});
