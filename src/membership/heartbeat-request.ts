import { type InstanceId, type ShardIndex, shardIndex } from '../domain/ids';
import type { HeartbeatRequest, RevokeReport } from '../domain/membership/heartbeat-request';
import type { HeartbeatBody, ShardProgress } from '../protocol';

/** A checked body in the terms of the domain: repeats are merged, null and absent are one. */
export function heartbeatRequestOf(
  body: HeartbeatBody,
  memberId: HeartbeatRequest['memberId'],
): HeartbeatRequest {
  return {
    requestId: body.requestId,
    protocolVersion: body.protocolVersion,
    memberId,
    memberName: body.memberName ?? null,
    memberEpoch: body.memberEpoch,
    metadataVersion: body.metadataVersion,
    maxObservedVersion: body.maxObservedVersion ?? null,
    instanceId: (body.instanceId ?? null) as InstanceId | null,
    previousEpoch: body.previousEpoch ?? null,
    maxConcurrency: body.runtimeConsumerCapacity.runtimeMaxConcurrency,
    availableConcurrency: body.runtimeConsumerCapacity.availableConcurrency,
    owned: body.ownedShards ? new Set(body.ownedShards.map((shard) => shardIndex(shard.shardIndex))) : null,
    revoking: body.revokingShards ? mergedReports(body.revokingShards) : null,
    progress: (body.shardProgress ?? []).map(knownFields),
  };
}

/** Of two reports on a shard the one with more in flight counts: it releases less. */
function mergedReports(
  reports: NonNullable<HeartbeatBody['revokingShards']>,
): ReadonlyMap<ShardIndex, RevokeReport> {
  const merged = new Map<ShardIndex, RevokeReport>();
  for (const { shard, state, inFlight } of reports) {
    const index = shardIndex(shard.shardIndex);
    const known = merged.get(index);
    merged.set(index, { state, inFlight: Math.max(inFlight, known?.inFlight ?? 0) });
  }
  return merged;
}

/** Only what the contract names is stored: an unknown field could hold anything. */
function knownFields(progress: ShardProgress): ShardProgress {
  return {
    shard: { shardIndex: progress.shard.shardIndex },
    streamKey: progress.streamKey,
    lastDeliveredId: progress.lastDeliveredId ?? null,
    lastAckedId: progress.lastAckedId ?? null,
    pendingCount: progress.pendingCount,
    updatedAt: progress.updatedAt ?? null,
  };
}
