import type { Transition } from '../coordinator/transition';
import type { Occupancy } from '../group/group-metadata';
import { FREE } from '../group/group-metadata';
import type { MemberId, ShardIndex } from '../ids';
import type { EpochMillis } from '../time';
import { deadlineAfter, durationMs } from '../time';
import type { Member, MemberState } from './member';

/** Shards that the running tenure of a member holds, ascending. */
export function heldBy(transition: Transition, memberId: MemberId): ShardIndex[] {
  const held: ShardIndex[] = [];
  transition.draft.currentShards().forEach(({ occupancy }, position) => {
    if (occupancy.kind === 'HELD' && occupancy.memberId === memberId) held.push(position as ShardIndex);
  });
  return held;
}

/** Ends a tenure whose lease ran out: it reads nothing any more, so its shards are free. */
export function expireMember(transition: Transition, member: Member): void {
  vacate(transition, member, FREE);
  transition.draft.putMovedMember(withState(member, 'EXPIRED', transition));
  transition.endTenure(member.memberId);
}

/** Excludes a member that may still read inside its lease: its shards stay blocked until the recorded lease ends. */
export function fenceMember(transition: Transition, member: Member): void {
  vacate(transition, member, blockUntilLeaseEnd(transition, member));
  transition.draft.putMovedMember(withState(member, 'FENCED', transition));
  transition.endTenure(member.memberId);
}

/** Ends a tenure because a newer one of the same member begins. `stopped`: the newcomer is the same process and reads nothing. */
export function replaceTenure(transition: Transition, member: Member, stopped: boolean): void {
  vacate(transition, member, stopped ? FREE : blockUntilLeaseEnd(transition, member));
  transition.endTenure(member.memberId);
}

export function withState(member: Member, state: MemberState, { context }: Transition): Member {
  return { ...member, state, stateChangedAtMs: context.nowMs };
}

function vacate(transition: Transition, member: Member, occupancy: Occupancy): void {
  for (const index of heldBy(transition, member.memberId)) transition.draft.occupy(index, occupancy);
}

function blockUntilLeaseEnd(transition: Transition, { memberId, memberEpoch }: Member): Occupancy {
  const { nowMs, mayEndTenures, timing } = transition.context;
  const leaseEndMs = transition.leaseOf(memberId) ?? nowMs;
  // In a quiet period a recorded end proves nothing: the member's own clock may give it a whole lease more.
  const untilMs = mayEndTenures
    ? leaseEndMs
    : Math.max(leaseEndMs, deadlineAfter(nowMs, durationMs(timing.memberLeaseTtlMs)));
  return untilMs <= nowMs
    ? FREE
    : { kind: 'BLOCKED', memberId, memberEpoch, untilMs: untilMs as EpochMillis };
}
