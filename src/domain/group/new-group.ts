import type { DecisionContext } from '../coordinator/decision';
import type {
  AssignmentEpoch,
  FencingToken,
  GroupEpoch,
  MemberEpoch,
  MetadataVersion,
  StoreRevision,
} from '../epochs';
import type { GroupKey, Incarnation, WriteId } from '../ids';
import type { EpochMillis } from '../time';
import type { GroupMetadata, Shard } from './group-metadata';
import { FREE, NO_CONFLICTS } from './group-metadata';

export interface NewGroup {
  readonly key: GroupKey;
  /** Random. */
  readonly incarnation: Incarnation;
  readonly shardCount: number;
  /** When members of a former life of this group have stopped at the latest; null: there was none. */
  readonly grantsFromMs: EpochMillis | null;
  /** The group was there when this was asked: should it be gone by now, its members may read for a whole lease. */
  readonly wasThere?: boolean;
}

/**
 * A group without members. Every number starts at the Redis clock, so that a group that is deleted and created again never
 * repeats one.
 */
export function newGroup(
  { key, incarnation, shardCount, grantsFromMs }: NewGroup,
  { nowMs, drawMs, redisId }: Pick<DecisionContext, 'nowMs' | 'drawMs' | 'redisId'>,
): GroupMetadata {
  const shard: Shard = {
    target: null,
    occupancy: FREE,
    conflicts: NO_CONFLICTS,
    lastToken: drawMs as number as FencingToken,
  };
  const metadataVersion = drawMs as number as MetadataVersion;
  return {
    ...key,
    incarnation,
    redisId,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    storeRevision: drawMs as number as StoreRevision,
    writeId: '' as WriteId, // stamped by the critical section
    metadataVersion,
    recentVersions: [metadataVersion],
    groupEpoch: drawMs as number as GroupEpoch,
    assignmentEpoch: drawMs as number as AssignmentEpoch,
    lastMemberEpoch: drawMs as number as MemberEpoch,
    provisioning: 'PENDING',
    grantsFromMs: grantsFromMs ?? nowMs,
    shardCount,
    shards: Array.from({ length: shardCount }, () => shard),
    members: new Map(),
    correction: null,
    rounds: { lastRoundVersion: 0 as MetadataVersion, lastObservedVersion: null, strangerAtMs: null },
  };
}
