import { JOIN_EPOCH } from '../protocol';
import type { ErrorDetail, HeartbeatBody, RevokeState } from '../protocol';

/** What the fields of a heartbeat must not say together, and what depends on an option. Fields were checked before. */
export function heartbeatConflicts(
  body: HeartbeatBody,
  pathMemberId: string,
  maxShardCount: number,
): readonly ErrorDetail[] {
  const details: ErrorDetail[] = [];
  if (body.memberId !== pathMemberId) {
    details.push({ field: 'memberId', rule: 'must be the member id of the path' });
  }
  if (body.memberEpoch === JOIN_EPOCH && (body.ownedShards?.length ?? 0) > 0) {
    details.push({
      field: 'ownedShards',
      rule: 'must be empty or absent in a join: former ownership is not inherited',
    });
  }
  details.push(...indexConflicts(body, maxShardCount), ...ownershipConflicts(body));
  return details;
}

function indexConflicts(body: HeartbeatBody, maxShardCount: number): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  const rule = `must be below ${maxShardCount}, the most shards of a stream here`;
  const check = (field: string, shardIndex: number): void => {
    if (shardIndex >= maxShardCount) details.push({ field, rule });
  };
  body.ownedShards?.forEach((shard, i) => check(`ownedShards[${i}].shardIndex`, shard.shardIndex));
  body.revokingShards?.forEach(({ shard }, i) =>
    check(`revokingShards[${i}].shard.shardIndex`, shard.shardIndex),
  );
  body.shardProgress?.forEach(({ shard }, i) =>
    check(`shardProgress[${i}].shard.shardIndex`, shard.shardIndex),
  );
  return details;
}

function ownershipConflicts(body: HeartbeatBody): ErrorDetail[] {
  if (!body.revokingShards || body.revokingShards.length === 0) return [];
  const owned = new Set(body.ownedShards?.map((shard) => shard.shardIndex));
  const states = new Map<number, RevokeState>();
  const details: ErrorDetail[] = [];
  body.revokingShards.forEach(({ shard: { shardIndex }, state }, i) => {
    if (owned.has(shardIndex)) {
      details.push({ field: `revokingShards[${i}].shard`, rule: 'must not be in ownedShards as well' });
    }
    const known = states.get(shardIndex);
    if (known !== undefined && known !== state) {
      details.push({
        field: `revokingShards[${i}].state`,
        rule: `must not differ from another state of the same shard`,
      });
    }
    states.set(shardIndex, state);
  });
  return details;
}
