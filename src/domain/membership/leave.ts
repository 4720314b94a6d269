import { retarget, settleAssignment } from '../assignment/current-assignment';
import type { Transition } from '../coordinator/transition';
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
  if (member === undefined || !isLive(member) || !belongsToTenure(member, request)) return;
  const leaving = member.state === 'LEAVING' ? member : withState(member, 'LEAVING', transition);
  if (leaving !== member) {
    transition.draft.putMovedMember(leaving);
    retarget(transition);
    settleAssignment(transition); // records the drains, so that the report of this very request can release them
  }
  releaseReported(transition, leaving, request, () => true);
  forgetIfDone(transition, leaving);
}

/** A LEAVING member that holds nothing any more has left. */
export function forgetIfDone(transition: Transition, member: Member): boolean {
  if (member.state !== 'LEAVING' || heldBy(transition, member.memberId).length > 0) return false;
  transition.removeLease(member.memberId);
  forget(transition, member);
  return true;
}

function belongsToTenure(member: Member, request: HeartbeatRequest): boolean {
  if (request.instanceId !== null) return request.instanceId === member.instanceId;
  if (request.previousEpoch !== null) return request.previousEpoch === member.memberEpoch;
  return request.metadataVersion >= member.joinedVersion;
}
