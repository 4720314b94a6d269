import type { GroupMetadata, Shard } from '../domain/group/group-metadata';

/**
 * The stored form of a group, one JSON object. Lists instead of objects keyed by ids, so that no id (`__proto__`) can have a
 * meaning of its own. A shard is `{target, token}` when free, with `holder` (and `drain`) when held, with `blocked` when blocked.
 * Changing anything here is a new schema version.
 */
export const SCHEMA_VERSION = '1';
/** Of the Redis keys and hash fields around the aggregate. */
export const LAYOUT_VERSION = '1';

export function encodeAggregate(metadata: GroupMetadata): string {
  return JSON.stringify({
    streamPrefix: metadata.streamPrefix,
    consumerGroup: metadata.consumerGroup,
    incarnation: metadata.incarnation,
    createdAtMs: metadata.createdAtMs,
    updatedAtMs: metadata.updatedAtMs,
    storeRevision: metadata.storeRevision,
    writeId: metadata.writeId,
    metadataVersion: metadata.metadataVersion,
    recentVersions: metadata.recentVersions,
    groupEpoch: metadata.groupEpoch,
    assignmentEpoch: metadata.assignmentEpoch,
    lastMemberEpoch: metadata.lastMemberEpoch,
    provisioning: metadata.provisioning,
    grantsFromMs: metadata.grantsFromMs,
    shardCount: metadata.shardCount,
    shards: metadata.shards.map(storedShard),
    members: [...metadata.members.values()].map((member) => ({
      memberId: member.memberId,
      memberName: member.memberName,
      state: member.state,
      stateChangedAtMs: member.stateChangedAtMs,
      memberEpoch: member.memberEpoch,
      instanceId: member.instanceId,
      joinedVersion: member.joinedVersion,
      maxConcurrency: member.maxConcurrency,
    })),
  });
}

function storedShard(shard: Shard): object {
  const { target, lastToken: token, occupancy } = shard;
  switch (occupancy.kind) {
    case 'FREE':
      return { target, token };
    case 'HELD':
      return occupancy.drain === null
        ? { target, token, holder: occupancy.memberId }
        : {
            target,
            token,
            holder: occupancy.memberId,
            drain: { version: occupancy.drain.recordedVersion, deadlineMs: occupancy.drain.deadlineMs },
          };
    case 'BLOCKED':
      return {
        target,
        token,
        blocked: {
          memberId: occupancy.memberId,
          memberEpoch: occupancy.memberEpoch,
          untilMs: occupancy.untilMs,
        },
      };
  }
}
