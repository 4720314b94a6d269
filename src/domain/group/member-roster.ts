import { assertInvariant } from '../assert';
import type { MemberId } from '../ids';
import type { Member } from '../membership/member';

/**
 * A fixed set of members by id, immutable. Updating one copies a list of references and shares the table of positions: a
 * `Map` would be rebuilt entry by entry, which for a group of hundreds costs more than all else that a heartbeat decides.
 */
export class MemberRoster implements ReadonlyMap<MemberId, Member> {
  private constructor(
    private readonly positions: ReadonlyMap<MemberId, number>,
    private readonly list: readonly Member[],
  ) {}

  static of(members: ReadonlyMap<MemberId, Member>): MemberRoster {
    if (members instanceof MemberRoster) return members;
    const list = [...members.values()];
    return new MemberRoster(new Map(list.map((member, position) => [member.memberId, position])), list);
  }

  /** The same members, one of them as given. @throws InvariantViolationError for a member that is not among them. */
  withUpdated(member: Member): MemberRoster {
    const position = this.positions.get(member.memberId);
    assertInvariant(position !== undefined, `member ${member.memberId} is on the roster`);
    return new MemberRoster(this.positions, this.list.with(position, member));
  }

  get size(): number {
    return this.list.length;
  }

  get(memberId: MemberId): Member | undefined {
    const position = this.positions.get(memberId);
    return position === undefined ? undefined : this.list[position];
  }

  has(memberId: MemberId): boolean {
    return this.positions.has(memberId);
  }

  keys(): MapIterator<MemberId> {
    return this.positions.keys();
  }

  values(): MapIterator<Member> {
    return this.list.values();
  }

  *entries(): MapIterator<[MemberId, Member]> {
    for (const member of this.list) yield [member.memberId, member];
  }

  [Symbol.iterator](): MapIterator<[MemberId, Member]> {
    return this.entries();
  }

  forEach(
    callback: (member: Member, memberId: MemberId, roster: ReadonlyMap<MemberId, Member>) => void,
  ): void {
    for (const member of this.list) callback(member, member.memberId, this);
  }
}
