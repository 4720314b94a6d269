import { join } from '../membership/join';
import { forgetIfDone, leave } from '../membership/leave';
import { isEligible, isLive } from '../membership/member';
import type { Member } from '../membership/member';
import { findForeignClaim, releaseReported } from '../membership/ownership-report';
import type { HeartbeatRequest } from '../membership/heartbeat-request';
import { sweepDeadlines } from '../membership/sweep';
import { fenceMember, withState } from '../membership/tenure';
import { observeVersions } from '../correction/evidence';
import { takeRoundReport } from '../correction/round-report';
import { conclude } from './conclude';
import type { Decision, DecisionContext, GroupCommand, GroupState } from './decision';
import { refusal, unsupportedProtocol, viewOfLeave, viewOfTenure } from './heartbeat-reply';
import type { HeartbeatReply } from './heartbeat-reply';
import type { Transition } from './transition';
import { unchanged } from './transition';
import { openTransition } from './open-transition';

const JOIN = 0;
const LEAVE = -1;

/** The protocol versions that are spoken, inclusive. */
export interface ProtocolRange {
  readonly min: number;
  readonly max: number;
}

/**
 * A heartbeat (docs/protocol.md, The checks in order; 1 and 2, termination and malformed input, happen before):
 * 3 unsupported protocol, 4 group missing, (5 unreadable: the store's), 6 evidence of a regression, 7 join, 8 leave,
 * 9 unknown member, 10 fenced epoch, 11 foreign claim, 12 SYNC_METADATA, 13 REVOKE_PENDING, 14 OK.
 */
export function onHeartbeat(
  request: HeartbeatRequest,
  protocol: ProtocolRange,
): GroupCommand<HeartbeatReply> {
  const isRunning = request.memberEpoch !== JOIN && request.memberEpoch !== LEAVE;
  return {
    name: 'heartbeat',
    ...(isRunning ? { renews: request.memberId } : {}),
    decide: (state, context) => decideHeartbeat(request, protocol, state, context),
  };
}

function decideHeartbeat(
  request: HeartbeatRequest,
  protocol: ProtocolRange,
  state: GroupState,
  context: DecisionContext,
): Decision<HeartbeatReply> {
  const { metadata } = state;
  if (request.protocolVersion < protocol.min || request.protocolVersion > protocol.max) {
    return unchanged(state, (recorded) => unsupportedProtocol(recorded, request.memberEpoch));
  }
  if (metadata === null) return unchanged(state, () => refusal({ code: 'GROUP_NOT_FOUND' }));
  const transition = openTransition(metadata, state.leases, context);
  observeVersions(transition, request);
  sweepDeadlines(transition);
  const reply = applyHeartbeat(transition, request);
  conclude(transition);
  return transition.decide(reply);
}

function applyHeartbeat(
  transition: Transition,
  request: HeartbeatRequest,
): (committed: GroupState) => HeartbeatReply {
  switch (request.memberEpoch) {
    case JOIN:
      return applyJoin(transition, request);
    case LEAVE:
      leave(transition, request);
      return (committed) => viewOfLeave(committed, request);
    default:
      return applyRunning(transition, request);
  }
}

function applyJoin(
  transition: Transition,
  request: HeartbeatRequest,
): (committed: GroupState) => HeartbeatReply {
  if (request.owned !== null && request.owned.size > 0)
    return () => refusal({ code: 'JOIN_WITH_OWNED_SHARDS' });
  const outcome = join(transition, request);
  if (outcome.kind === 'MEMBER_LIMIT') {
    const { maxMembers } = transition.context;
    return () => refusal({ code: 'MEMBER_LIMIT', maxMembers });
  }
  recordReport(transition, request);
  return (committed) => viewOfTenure(committed, request, outcome.memberEpoch);
}

function applyRunning(
  transition: Transition,
  request: HeartbeatRequest,
): (committed: GroupState) => HeartbeatReply {
  const { draft } = transition;
  const fromRecord = (committed: GroupState) => viewOfTenure(committed, request, request.memberEpoch);
  const member = draft.currentMembers().get(request.memberId);
  if (member === undefined || member.memberEpoch !== request.memberEpoch || !isLive(member))
    return fromRecord;
  if (isForeignClaim(transition, member, request)) {
    fenceMember(transition, member);
    return fromRecord;
  }
  takeRoundReport(transition, member, request, false);
  transition.renewLease(member.memberId);
  recordReport(transition, request);
  const current = recordMember(transition, draft.currentMembers().get(member.memberId) ?? member, request);
  releaseReported(transition, current, request, (drain) => request.metadataVersion >= drain.recordedVersion);
  return forgetIfDone(transition, current) ? (committed) => viewOfLeave(committed, request) : fromRecord;
}

/** Only with the recorded version: an older report is about a view that was true once. In a quiet period nobody is fenced, in a round it is a conflict. */
function isForeignClaim(transition: Transition, member: Member, request: HeartbeatRequest): boolean {
  const { draft } = transition;
  if (draft.correction !== null || !transition.mayEndTenures) return false;
  if (request.metadataVersion !== (draft.base.metadataVersion as number)) return false;
  const shard = findForeignClaim(transition, member, request);
  if (shard === null) return false;
  transition.request({
    kind: 'ALERT',
    alert: 'SHARD_NEVER_GRANTED',
    detail: `member ${member.memberId} claims shard ${shard}`,
  });
  return true;
}

function recordMember(transition: Transition, member: Member, request: HeartbeatRequest): Member {
  const named =
    request.memberName === null || request.memberName === member.memberName
      ? member
      : { ...member, memberName: request.memberName };
  const sized =
    request.maxConcurrency === member.maxConcurrency
      ? named
      : { ...named, maxConcurrency: request.maxConcurrency };
  const current = sized.state === 'STARTING' ? withState(sized, 'ACTIVE', transition) : sized;
  if (current === member) return member;
  if (isEligible(current) === isEligible(member)) transition.draft.putMember(current);
  else transition.draft.putMovedMember(current);
  return current;
}

function recordReport(transition: Transition, request: HeartbeatRequest): void {
  transition.report(request.memberId, {
    receivedAtMs: transition.context.nowMs,
    availableConcurrency: request.availableConcurrency,
    progress: request.progress,
  });
}
