import { retarget, settleAssignment } from '../assignment/current-assignment';
import type { Transition } from '../coordinator/transition';
import { hasConflict } from '../correction/conflicts';
import { isOfThisHistory } from '../correction/evidence';
import { takeRoundReport } from '../correction/round-report';
import type { HeartbeatRequest } from './heartbeat-request';
import { isLive } from './member';
import type { Member } from './member';
import { releaseReported } from './ownership-report';
import { forget } from './sweep';
import { heldBy, withState } from './tenure';

/**
 * Lets a member go. Renews nothing. A leave that does not belong to the recorded tenure is late and changes nothing. What is
 * still held is drained first: the member stays LEAVING until it has let go of everything, then it is forgotten.
 */
export function leave(transition: Transition, request: HeartbeatRequest): void {
  const member = transition.draft.currentMembers().get(request.memberId);
  if (member === undefined || !isLive(member)) return;
  if (!belongsToTenure(transition, member, request)) return;
  const leaving = member.state === 'LEAVING' ? member : withState(member, 'LEAVING', transition);
  if (leaving !== member) {
    transition.draft.putMovedMember(leaving);
    retarget(transition);
    settleAssignment(transition); // records the drains, so that the report of this very request can release them
  }
  takeRoundReport(transition, leaving, request, true);
  releaseReported(transition, leaving, request, () => true);
  forgetIfDone(transition, leaving);
}

/** A LEAVING member that holds nothing any more has left; in a correction round, once it has told so. */
export function forgetIfDone(transition: Transition, member: Member): boolean {
  if (member.state !== 'LEAVING' || heldBy(transition, member.memberId).length > 0) return false;
  const round = transition.draft.correction;
  if (round !== null && (!round.synced.has(member.memberId) || hasConflict(transition, member))) return false;
  transition.removeLease(member.memberId);
  forget(transition, member);
  return true;
}

function belongsToTenure({ draft }: Transition, member: Member, request: HeartbeatRequest): boolean {
  if (request.instanceId !== null) return request.instanceId === member.instanceId;
  if (request.previousEpoch !== null) return request.previousEpoch === member.memberEpoch;
  // A version of a lost timeline may be of any tenure.
  return (
    request.metadataVersion >= member.joinedVersion && isOfThisHistory(draft.base, request.metadataVersion)
  );
}
