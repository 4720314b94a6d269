import { groupState } from '../domain/group/derived-state';
import type { GroupExplanation, MemberExplanation, ShardExplanation } from '../domain/group/explain';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { WaitContext } from '../domain/group/shard-wait';
import { correctionViewOf, shardIdsOf } from '../http/group.view';
import type {
  CorrectionOutlookView,
  ExplainView,
  MemberExplanationView,
  QuietPeriodView,
  ShardExplanationView,
} from '../protocol';

export function explainViewOf(
  metadata: GroupMetadata,
  explanation: GroupExplanation,
  context: WaitContext,
): ExplainView {
  return {
    streamPrefix: metadata.streamPrefix,
    consumerGroup: metadata.consumerGroup,
    state: groupState(metadata),
    metadataVersion: metadata.metadataVersion,
    shardCount: metadata.shardCount,
    provisioning: metadata.provisioning,
    observedAt: context.nowMs,
    correction: outlookView(metadata, explanation),
    quietPeriod: quietView(context),
    shards: explanation.shards.map(shardView),
    members: explanation.members.map(memberView),
  };
}

function outlookView(metadata: GroupMetadata, { outlook }: GroupExplanation): CorrectionOutlookView | null {
  const correction = correctionViewOf(metadata);
  if (correction === null || outlook === null) return null;
  return { ...correction, earliestEndAt: outlook.earliestEndMs, fenceAt: outlook.boundMs };
}

function quietView({ mayEndTenures, mayGrant, quiet }: WaitContext): QuietPeriodView | null {
  if (mayEndTenures && mayGrant) return null;
  return { since: quiet?.sinceMs ?? null, until: quiet?.untilMs ?? null, mayGrant };
}

function shardView({ index, holder, waiting, wait, flow }: ShardExplanation): ShardExplanationView {
  return {
    shardIndex: index,
    holder,
    waiting,
    reason: wait?.reason ?? null,
    since: wait?.sinceMs ?? null,
    until: wait?.untilMs ?? null,
    waitsFor: wait?.by ?? [],
    lag: flow?.lag ?? null,
    pendingCount: flow?.pendingCount ?? null,
  };
}

function memberView(member: MemberExplanation): MemberExplanationView {
  return {
    memberId: member.memberId,
    state: member.state,
    since: member.stateSinceMs,
    leaseRemainingMs: member.leaseRemainingMs,
    hasTold: member.hasTold,
    pendingShards: shardIdsOf(member.pending),
    revokingShards: shardIdsOf(member.revoking),
    reasons: member.reasons,
    waitsFor: member.waitsFor,
    until: member.untilMs,
  };
}
