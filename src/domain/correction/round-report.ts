import type { Transition } from '../coordinator/transition';
import type { HeartbeatRequest } from '../membership/heartbeat-request';
import type { Member } from '../membership/member';
import { isLetGo } from '../membership/ownership-report';
import { eachConflicted, isOf } from './conflicts';

/**
 * Takes in what a member tells in a correction round:
 * a shard that it may be reading although Redis does not say so  -> a conflict, which keeps the shard from everyone
 * a conflict of its own that it reports gone                     -> ended
 * both lists, in view of the round                               -> it has told: synchronised, for the rest of the round
 * The last two need a request of the round's version at least: an older one may be of the lost timeline. A leave needs none
 * (`isFinal`): its tenure, which was checked, reads nothing any more that it reports gone.
 */
export function takeRoundReport(
  transition: Transition,
  member: Member,
  request: HeartbeatRequest,
  isFinal: boolean,
): void {
  const { draft, context } = transition;
  const round = draft.correction;
  if (round === null) return;
  recordClaims(transition, member, request);
  if (!isFinal && request.metadataVersion < round.roundVersion) return;
  endConflictsLetGo(transition, member, request);
  if (request.owned === null || request.revoking === null || round.synced.has(member.memberId)) return;
  draft.putRound({ ...round, synced: new Set(round.synced).add(member.memberId) });
  const current = draft.currentMembers().get(member.memberId) ?? member;
  draft.putMember({ ...current, correctedAtMs: context.nowMs });
}

function recordClaims(transition: Transition, member: Member, request: HeartbeatRequest): void {
  const { draft } = transition;
  const claimed = [...(request.owned ?? [])];
  for (const [index, { state, inFlight }] of request.revoking ?? []) {
    if (state !== 'REVOKED' || inFlight > 0) claimed.push(index);
  }
  for (const index of claimed) {
    const shard = draft.currentShards()[index];
    if (shard === undefined) continue; // no such shard here: nobody else can be given it
    const { occupancy, conflicts } = shard;
    const isHeld = occupancy.kind === 'HELD' && occupancy.memberId === member.memberId;
    if (isHeld || conflicts.some((conflict) => isOf(conflict, member))) continue;
    const { memberId, memberEpoch } = member;
    draft.putConflicts(index, [...conflicts, { memberId, memberEpoch, untilMs: null }]);
  }
}

function endConflictsLetGo(transition: Transition, member: Member, request: HeartbeatRequest): void {
  eachConflicted(transition, (index, conflicts) =>
    isLetGo(request, index) ? conflicts.filter((conflict) => !isOf(conflict, member)) : conflicts,
  );
}
