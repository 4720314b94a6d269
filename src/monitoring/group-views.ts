import type { MemberReport } from '../domain/coordinator/decision';
import { findViolations } from '../domain/group/invariants';
import { memberShards } from '../domain/group/derived-state';
import type { MemberId } from '../domain/ids';
import { isLive, type Member } from '../domain/membership/member';
import type { ReadGroup } from '../critical-section/group-reader';
import { heldBy, perLiveMember, shardIdsOf, targetOf } from '../http/group.view';
import type { AssignmentsView, MemberView, ShardProgress } from '../protocol';

export function memberViewsOf(
  group: ReadGroup,
  reports: ReadonlyMap<MemberId, MemberReport>,
): readonly MemberView[] {
  return [...group.metadata.members.values()].map((member) =>
    memberViewOf(group, member, reports.get(member.memberId)),
  );
}

function memberViewOf(group: ReadGroup, member: Member, report: MemberReport | undefined): MemberView {
  const { metadata, leases, redisNowMs } = group;
  const deadlineMs = leases.get(member.memberId);
  return {
    memberId: member.memberId,
    memberName: member.memberName,
    state: member.state,
    memberEpoch: member.memberEpoch,
    metadataVersion: member.joinedVersion,
    currentAssignment: shardIdsOf(heldBy(metadata, member.memberId)),
    revoking: shardIdsOf(memberShards(metadata, member.memberId).revoking),
    leaseRemainingMs: deadlineMs === undefined ? null : Math.max(0, deadlineMs - redisNowMs),
    lastHeartbeatAt: report?.receivedAtMs ?? null,
    runtimeConsumerCapacity: {
      runtimeMaxConcurrency: member.maxConcurrency,
      availableConcurrency: report?.availableConcurrency ?? 0,
    },
    // Checked when it was reported, opaque since.
    shardProgress: (report?.progress ?? []) as readonly ShardProgress[],
    hasTold: isLive(member) ? (metadata.correction?.synced.has(member.memberId) ?? null) : null,
  };
}

export function assignmentsViewOf({ metadata, leases }: ReadGroup): AssignmentsView {
  return {
    targetAssignment: perLiveMember(metadata, (memberId) => shardIdsOf(targetOf(metadata, memberId))),
    currentAssignments: perLiveMember(metadata, (memberId) => shardIdsOf(heldBy(metadata, memberId))),
    revokeProgress: perLiveMember(metadata, (memberId) =>
      shardIdsOf(memberShards(metadata, memberId).revoking),
    ),
    invariantViolations: findViolations(metadata, leases),
  };
}
