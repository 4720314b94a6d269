import type { Transition } from '../coordinator/transition';
import { dropConflicts } from '../correction/conflicts';
import { joinInRound } from '../correction/round-record';
import { FREE } from '../group/group-metadata';
import type { MemberEpoch } from '../epochs';
import type { ShardIndex } from '../ids';
import type { HeartbeatRequest } from './heartbeat-request';
import { isLive } from './member';
import type { Member } from './member';
import { blocksAShard, forget } from './sweep';
import { replaceTenure } from './tenure';

export type JoinOutcome =
  | { readonly kind: 'JOINED' | 'REPEATED'; readonly memberEpoch: MemberEpoch }
  | { readonly kind: 'MEMBER_LIMIT' };

/**
 * Takes a member in (docs/protocol.md, Join):
 * same instanceId, STARTING or ACTIVE -> a repeat of a join whose answer was lost: only the lease is renewed
 * anything else                       -> a new tenure with a new epoch; what the former one holds stays blocked until its lease
 *                                        ends, unless the newcomer names it by previousEpoch (the same process, which has stopped)
 */
export function join(transition: Transition, request: HeartbeatRequest): JoinOutcome {
  const known = transition.draft.currentMembers().get(request.memberId);
  if (known !== undefined && isRepeat(known, request)) {
    transition.renewLease(known.memberId);
    return { kind: 'REPEATED', memberEpoch: known.memberEpoch };
  }
  if (known === undefined && !hasRoom(transition)) return { kind: 'MEMBER_LIMIT' };
  if (known !== undefined) endFormerTenures(transition, known, request.previousEpoch);
  const member = startTenure(transition, request, known);
  return { kind: 'JOINED', memberEpoch: member.memberEpoch };
}

function isRepeat(known: Member, { instanceId }: HeartbeatRequest): boolean {
  return (
    instanceId !== null &&
    instanceId === known.instanceId &&
    (known.state === 'STARTING' || known.state === 'ACTIVE')
  );
}

function endFormerTenures(transition: Transition, known: Member, previousEpoch: number | null): void {
  if (isLive(known)) replaceTenure(transition, known, previousEpoch === known.memberEpoch);
  transition.draft.currentShards().forEach(({ occupancy }, position) => {
    if (occupancy.kind !== 'BLOCKED' || occupancy.memberId !== known.memberId) return;
    if (occupancy.memberEpoch === previousEpoch) transition.draft.occupy(position as ShardIndex, FREE);
  });
  if (previousEpoch !== null)
    dropConflicts(transition, { memberId: known.memberId, memberEpoch: previousEpoch as MemberEpoch });
}

function startTenure(transition: Transition, request: HeartbeatRequest, known: Member | undefined): Member {
  const { draft, context } = transition;
  const member: Member = {
    memberId: request.memberId,
    memberName: request.memberName,
    state: 'STARTING',
    stateChangedAtMs: context.nowMs,
    memberEpoch: draft.issueMemberEpoch(),
    instanceId: request.instanceId,
    joinedVersion: draft.version,
    maxConcurrency: request.maxConcurrency,
    correctedAtMs: known?.correctedAtMs ?? null,
    lostVersion: known?.lostVersion ?? null,
  };
  draft.putMovedMember(member);
  joinInRound(transition, member);
  transition.renewLease(member.memberId);
  return member;
}

/** A full group makes room by forgetting dead members first, the longest dead first; whose shards are blocked stays. */
function hasRoom(transition: Transition): boolean {
  const { draft, context } = transition;
  const excess = draft.currentMembers().size + 1 - context.maxMembers;
  if (excess <= 0) return true;
  const forgettable = [...draft.currentMembers().values()]
    .filter((member) => !isLive(member) && !blocksAShard(transition, member))
    .sort((a, b) => a.stateChangedAtMs - b.stateChangedAtMs)
    .slice(0, excess);
  if (forgettable.length < excess) return false;
  for (const member of forgettable) forget(transition, member);
  return true;
}
