import { isLive } from '../membership/member';
import type { CoordinationTiming, EpochMillis } from '../time';
import { hasUngrantedShard, nextShardDeadline } from './derived-state';
import type { GroupMetadata, Leases } from './group-metadata';

/**
 * When the event loop must next look at the group: the earliest end of a lease, drain, block or retention; the next tick when
 * work was held back or a correction round is under way; one lease TTL from now at the latest (the slow sweep). Never before the next tick.
 */
export function nextDueMs(
  metadata: GroupMetadata,
  leases: Leases,
  timing: CoordinationTiming,
  nowMs: EpochMillis,
): EpochMillis {
  const nextTickMs = nowMs + timing.tickIntervalMs;
  let dueMs = nowMs + timing.memberLeaseTtlMs;
  for (const member of metadata.members.values()) {
    const endMs = isLive(member)
      ? leases.get(member.memberId)
      : member.stateChangedAtMs + timing.memberRetentionMs;
    if (endMs !== undefined && endMs < dueMs) dueMs = endMs;
  }
  const shardDeadlineMs = nextShardDeadline(metadata);
  if (shardDeadlineMs !== null && shardDeadlineMs < dueMs) dueMs = shardDeadlineMs;
  if (hasUngrantedShard(metadata)) dueMs = Math.min(dueMs, Math.max(nextTickMs, metadata.grantsFromMs));
  if (metadata.provisioning === 'PENDING' || metadata.correction !== null) dueMs = nextTickMs;
  return Math.max(dueMs, nextTickMs) as EpochMillis;
}
