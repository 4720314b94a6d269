import { isLive } from '../membership/member';
import type { GroupMetadata, Leases, Occupancy, Shard } from './group-metadata';
import { RECENT_VERSIONS_LIMIT } from './group-metadata';

/**
 * What must hold of every recorded group; checked before each write and after each read. A shard has at most one holder by
 * construction (`Occupancy`), so what remains are references, numbers and leases.
 * @returns one sentence per violation, empty when all hold; at most a handful, for a log line.
 */
export function findViolations(metadata: GroupMetadata, leases: Leases): string[] {
  return [
    ...numberViolations(metadata),
    ...memberViolations(metadata, leases),
    ...shardViolations(metadata),
    ...roundViolations(metadata),
  ].slice(0, 10);
}

function numberViolations(metadata: GroupMetadata): string[] {
  const violations: string[] = [];
  const { recentVersions } = metadata;
  const newest = recentVersions[recentVersions.length - 1];
  if (newest !== metadata.metadataVersion)
    violations.push('the newest recent version is not metadataVersion');
  if (recentVersions.length > RECENT_VERSIONS_LIMIT) violations.push('too many recent versions');
  for (let i = 1; i < recentVersions.length; i += 1) {
    if ((recentVersions[i] ?? 0) <= (recentVersions[i - 1] ?? 0))
      violations.push('recent versions do not ascend');
  }
  if (metadata.shards.length < metadata.shardCount) violations.push('fewer shards than shardCount');
  return violations;
}

function memberViolations(metadata: GroupMetadata, leases: Leases): string[] {
  const violations: string[] = [];
  for (const [memberId, member] of metadata.members) {
    if (member.memberId !== memberId) violations.push(`member ${memberId} is recorded as ${member.memberId}`);
    if (member.memberEpoch > metadata.lastMemberEpoch)
      violations.push(`member ${memberId} has an epoch that was never issued`);
    if (isLive(member) !== leases.has(memberId))
      violations.push(`member ${memberId} is ${member.state}, lease recorded: ${leases.has(memberId)}`);
  }
  for (const memberId of leases.keys()) {
    if (!metadata.members.has(memberId)) violations.push(`a lease of ${memberId}, who is no member`);
  }
  return violations;
}

function roundViolations({ correction, rounds, metadataVersion, shards, members }: GroupMetadata): string[] {
  if (rounds.lastRoundVersion > metadataVersion)
    return ['the last round has a version above metadataVersion'];
  if (correction === null) {
    const index = shards.findIndex(({ conflicts }) => conflicts.length > 0);
    return index === -1 ? [] : [`shard ${index}: a conflict outside of a correction round`];
  }
  if (correction.roundVersion !== rounds.lastRoundVersion) return ['the round under way is not the last one'];
  const violations: string[] = [];
  shards.forEach(({ conflicts }, index) => {
    for (const { memberId, untilMs } of conflicts) {
      if (untilMs === null && !members.has(memberId))
        violations.push(`shard ${index}: a conflict of ${memberId}, who is no member`);
    }
  });
  return violations;
}

function shardViolations(metadata: GroupMetadata): string[] {
  const violations: string[] = [];
  metadata.shards.forEach((shard, index) => {
    const fault = shardViolation(metadata, shard);
    if (fault !== null) violations.push(`shard ${index}: ${fault}`);
  });
  return violations;
}

function shardViolation(metadata: GroupMetadata, { target, occupancy }: Shard): string | null {
  const targeted = target === null ? null : metadata.members.get(target);
  if (targeted === undefined || (targeted !== null && !isLive(targeted)))
    return `its target ${target ?? ''} is no live member`;
  return occupancyViolation(metadata, target, occupancy);
}

function occupancyViolation(
  metadata: GroupMetadata,
  target: string | null,
  occupancy: Occupancy,
): string | null {
  if (occupancy.kind !== 'HELD') return null;
  const holder = metadata.members.get(occupancy.memberId);
  if (holder === undefined || !isLive(holder)) return `held by ${occupancy.memberId}, who is no live member`;
  if (target === occupancy.memberId && occupancy.drain !== null) return 'drained by its own target';
  if (target !== occupancy.memberId && occupancy.drain === null)
    return 'held by another than its target without a drain';
  return null;
}
