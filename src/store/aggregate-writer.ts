import type {
  Conflict,
  CorrectionRound,
  GroupMetadata,
  RoundHistory,
  Shard,
} from '../domain/group/group-metadata';
import type { Member } from '../domain/membership/member';

/**
 * The stored form of a group, one JSON object. Lists instead of objects keyed by ids, so that no id (`__proto__`) can have a
 * meaning of its own. A shard is `{target, token}` when free, with `holder` (and `drain`) when held, with `blocked` when blocked.
 * What only groups have that went through a correction round (`correction`, `rounds`, `conflicts`, ...) is left out
 * when there is none, so that the others stay readable to builds from before it. The Redis identity lies beside the aggregate.
 * Changing anything else here is a new schema version.
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
    members: [...metadata.members.values()].map(storedMember),
    // JSON leaves out what is undefined.
    correction: metadata.correction === null ? undefined : storedRound(metadata.correction),
    rounds: hasHistory(metadata.rounds) ? storedHistory(metadata.rounds) : undefined,
  });
}

function storedMember(member: Member): object {
  return {
    memberId: member.memberId,
    memberName: member.memberName,
    state: member.state,
    stateChangedAtMs: member.stateChangedAtMs,
    memberEpoch: member.memberEpoch,
    instanceId: member.instanceId,
    joinedVersion: member.joinedVersion,
    maxConcurrency: member.maxConcurrency,
    correctedAtMs: member.correctedAtMs ?? undefined,
    lostVersion: member.lostVersion ?? undefined,
  };
}

function storedRound(round: CorrectionRound): object {
  const { cause, roundVersion, startedAtMs, observedVersion, silentUntilMs, synced } = round;
  return { cause, roundVersion, startedAtMs, observedVersion, silentUntilMs, synced: [...synced] };
}

function hasHistory({ lastRoundVersion, lastObservedVersion, strangerAtMs }: RoundHistory): boolean {
  return lastRoundVersion !== 0 || lastObservedVersion !== null || strangerAtMs !== null;
}

function storedHistory({ lastRoundVersion, lastObservedVersion, strangerAtMs }: RoundHistory): object {
  return { lastRoundVersion, lastObservedVersion, strangerAtMs };
}

function storedConflict({ memberId, memberEpoch, untilMs }: Conflict): object {
  return { memberId, memberEpoch, untilMs };
}

function storedShard(shard: Shard): object {
  const { target, lastToken: token, occupancy } = shard;
  const conflicts = shard.conflicts.length === 0 ? undefined : shard.conflicts.map(storedConflict);
  switch (occupancy.kind) {
    case 'FREE':
      return { target, token, conflicts };
    case 'HELD':
      return {
        target,
        token,
        conflicts,
        holder: occupancy.memberId,
        drain:
          occupancy.drain === null
            ? undefined
            : { version: occupancy.drain.recordedVersion, deadlineMs: occupancy.drain.deadlineMs },
      };
    case 'BLOCKED':
      return {
        target,
        token,
        conflicts,
        blocked: {
          memberId: occupancy.memberId,
          memberEpoch: occupancy.memberEpoch,
          untilMs: occupancy.untilMs,
        },
      };
  }
}
