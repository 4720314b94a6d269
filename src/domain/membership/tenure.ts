import type { Transition } from '../coordinator/transition';
import { dropConflicts, keepConflictsUntil } from '../correction/conflicts';
import { outlast } from '../correction/round-record';
import type { Occupancy } from '../group/group-metadata';
import { FREE } from '../group/group-metadata';
import type { MemberId, ShardIndex } from '../ids';
import type { EpochMillis } from '../time';
import { deadlineAfter, durationMs, isOver } from '../time';
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
  dropConflicts(transition, member);
  transition.draft.putMovedMember(withState(member, 'EXPIRED', transition));
  transition.endTenure(member.memberId);
}

/** Excludes a member that may still read inside its lease: its shards stay blocked until the recorded lease ends. */
export function fenceMember(transition: Transition, member: Member): void {
  exclude(transition, member);
  transition.draft.putMovedMember(withState(member, 'FENCED', transition));
  transition.endTenure(member.memberId);
}

/** Ends a tenure because a newer one of the same member begins. `stopped`: the newcomer is the same process and reads nothing. */
export function replaceTenure(transition: Transition, member: Member, stopped: boolean): void {
  if (stopped) {
    vacate(transition, member, FREE);
    dropConflicts(transition, member);
  } else {
    exclude(transition, member);
  }
  transition.endTenure(member.memberId);
}

export function withState(member: Member, state: MemberState, { context }: Transition): Member {
  return { ...member, state, stateChangedAtMs: context.nowMs };
}

function vacate(transition: Transition, member: Member, occupancy: Occupancy): void {
  for (const index of heldBy(transition, member.memberId)) transition.draft.occupy(index, occupancy);
}

/** Ends a tenure that may go on reading for the rest of its lease, also what it was given by writes that Redis lost. */
function exclude(transition: Transition, member: Member): void {
  const untilMs = leaseEndOf(transition, member);
  if (isOver(untilMs, transition.context.nowMs)) {
    vacate(transition, member, FREE);
    dropConflicts(transition, member);
    return;
  }
  const { memberId, memberEpoch } = member;
  vacate(transition, member, { kind: 'BLOCKED', memberId, memberEpoch, untilMs });
  keepConflictsUntil(transition, member, untilMs);
  outlast(transition, member, untilMs);
}

/** When a tenure has stopped reading at the latest. */
function leaseEndOf(transition: Transition, { memberId }: Member): EpochMillis {
  const { nowMs, timing } = transition.context;
  const recordedMs = transition.leaseOf(memberId) ?? nowMs;
  if (transition.mayEndTenures) return recordedMs;
  // In a quiet period a recorded end proves nothing: the member's own clock may give it a whole lease more.
  const wholeLeaseMs = deadlineAfter(nowMs, durationMs(timing.memberLeaseTtlMs));
  return recordedMs > wholeLeaseMs ? recordedMs : wholeLeaseMs;
}
