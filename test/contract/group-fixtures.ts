import {
  NO_CONFLICTS,
  type GroupMetadata,
  type Leases,
  type Shard,
} from '../../src/domain/group/group-metadata';
import { newGroup } from '../../src/domain/group/new-group';
import type { MemberReport } from '../../src/domain/coordinator/decision';
import type { FencingToken, MemberEpoch, MetadataVersion, StoreRevision } from '../../src/domain/epochs';
import type {
  ConsumerGroup,
  GroupKey,
  Incarnation,
  InstanceId,
  MemberId,
  StreamPrefix,
  WriteId,
} from '../../src/domain/ids';
import type { Member, MemberState } from '../../src/domain/membership/member';
import { epochMillis, type EpochMillis } from '../../src/domain/time';

/** Identity of the Redis (or what stands in for it) that these groups were written to. */
export const REDIS_ID = 'node-1/repl-1';

let lastKey = 0;

/** A group that no other check uses. */
export function freshKey(): GroupKey {
  lastKey += 1;
  return { streamPrefix: `orders:eu-${lastKey}` as StreamPrefix, consumerGroup: 'billing' as ConsumerGroup };
}

let lastWriteId = 0;

export function freshWriteId(): WriteId {
  lastWriteId += 1;
  return `write-${lastWriteId}` as WriteId;
}

export function memberId(text: string): MemberId {
  return text as MemberId;
}

export function memberOf(id: MemberId, state: MemberState, version: number): Member {
  return {
    memberId: id,
    memberName: `${id} übung`,
    state,
    stateChangedAtMs: epochMillis(version),
    memberEpoch: version as MemberEpoch,
    instanceId: `tenure of ${id}` as InstanceId,
    joinedVersion: version as MetadataVersion,
    maxConcurrency: 4,
    correctedAtMs: null,
    lostVersion: null,
  };
}

/** A valid group: every given member is ACTIVE, shard i is held by member i, the rest is free. */
export function groupOf(
  key: GroupKey,
  ids: readonly MemberId[],
  nowMs: number,
  shardCount = 4,
): GroupMetadata {
  const now = epochMillis(nowMs);
  const empty = newGroup(
    { key, incarnation: `life-${nowMs}` as Incarnation, shardCount, grantsFromMs: null },
    { nowMs: now, drawMs: now, redisId: REDIS_ID },
  );
  const shards = empty.shards.map((shard, index): Shard => {
    const id = ids[index];
    return id === undefined
      ? shard
      : {
          target: id,
          occupancy: { kind: 'HELD', memberId: id, drain: null },
          conflicts: NO_CONFLICTS,
          lastToken: nowMs as FencingToken,
        };
  });
  return {
    ...empty,
    writeId: freshWriteId(),
    provisioning: 'COMPLETE',
    shards,
    members: new Map(ids.map((id) => [id, memberOf(id, 'ACTIVE', nowMs)])),
  };
}

/** What a section stamps: the next revision, a new write id, and a change that can be seen. */
export function successorOf(metadata: GroupMetadata, nowMs: number): GroupMetadata {
  const metadataVersion = Math.max(metadata.metadataVersion + 1, nowMs) as MetadataVersion;
  return {
    ...metadata,
    storeRevision: (metadata.storeRevision + 1) as StoreRevision,
    writeId: freshWriteId(),
    metadataVersion,
    recentVersions: [...metadata.recentVersions, metadataVersion],
    updatedAtMs: epochMillis(Math.max(metadata.updatedAtMs, nowMs)),
  };
}

export function leasesOf(ids: readonly MemberId[], deadlineMs: number): Leases {
  return new Map(ids.map((id) => [id, epochMillis(deadlineMs)]));
}

export function reportOf(receivedAtMs: number): MemberReport {
  return {
    receivedAtMs: receivedAtMs as EpochMillis,
    availableConcurrency: 3,
    progress: [{ shard: { shardIndex: 0 }, streamKey: 'orders:0', pendingCount: 2, text: 'ünï "quoted"' }],
  };
}
