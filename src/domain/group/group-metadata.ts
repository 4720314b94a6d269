import type {
  AssignmentEpoch,
  FencingToken,
  GroupEpoch,
  MemberEpoch,
  MetadataVersion,
  StoreRevision,
} from '../epochs';
import type { ConsumerGroup, Incarnation, MemberId, StreamPrefix, WriteId } from '../ids';
import type { Member } from '../membership/member';
import type { EpochMillis } from '../time';

/** How many past metadata versions the aggregate remembers. */
export const RECENT_VERSIONS_LIMIT = 64;

/** Asked of the holder: stop reading, finish what runs, report REVOKED. */
export interface Drain {
  /** The metadataVersion that recorded the drain: older reports release nothing. */
  readonly recordedVersion: MetadataVersion;
  /** When the holder is fenced. A newer target does not restart it. */
  readonly deadlineMs: EpochMillis;
}

/**
 * Who may be reading a shard. One value, so that two holders cannot be written down:
 * FREE     nobody; may be granted
 * HELD     granted to the running tenure of a live member; draining when its target moved away
 * BLOCKED  held by a tenure that was fenced or replaced, which may still read inside its recorded lease
 */
export type Occupancy =
  | { readonly kind: 'FREE' }
  | { readonly kind: 'HELD'; readonly memberId: MemberId; readonly drain: Drain | null }
  | {
      readonly kind: 'BLOCKED';
      readonly memberId: MemberId;
      readonly memberEpoch: MemberEpoch;
      readonly untilMs: EpochMillis;
    };

export const FREE: Occupancy = { kind: 'FREE' };

export interface Shard {
  /** Who should read it; null when no member is eligible. */
  readonly target: MemberId | null;
  readonly occupancy: Occupancy;
  /** Token of the last grant. The next grant's is larger. */
  readonly lastToken: FencingToken;
}

/**
 * Everything that the coordinator knows of one group, as one immutable value. It is stored as one JSON field; leases and
 * what members last reported lie beside it (they change without a write of the aggregate). Only functions under domain/ make
 * a changed one, only the critical section stamps and stores it.
 */
export interface GroupMetadata {
  readonly streamPrefix: StreamPrefix;
  readonly consumerGroup: ConsumerGroup;
  readonly incarnation: Incarnation;
  readonly createdAtMs: EpochMillis;
  /** Of the last committed write. No later section sees an earlier clock. */
  readonly updatedAtMs: EpochMillis;
  readonly storeRevision: StoreRevision;
  readonly writeId: WriteId;
  readonly metadataVersion: MetadataVersion;
  /** Ascending, the last one is metadataVersion, at most RECENT_VERSIONS_LIMIT. */
  readonly recentVersions: readonly MetadataVersion[];
  readonly groupEpoch: GroupEpoch;
  readonly assignmentEpoch: AssignmentEpoch;
  /** The largest that was ever issued here; survives the members. */
  readonly lastMemberEpoch: MemberEpoch;
  /** PENDING until every stream and Redis group exists; nothing is granted before. */
  readonly provisioning: 'PENDING' | 'COMPLETE';
  /** Nothing is granted before: members of a former life of this group may read until then. */
  readonly grantsFromMs: EpochMillis;
  /** What producers route over. */
  readonly shardCount: number;
  /** By shard index. At least shardCount long (longer only while a resharding drains removed shards). */
  readonly shards: readonly Shard[];
  readonly members: ReadonlyMap<MemberId, Member>;
}

/** The recorded lease deadlines, of live members only. */
export type Leases = ReadonlyMap<MemberId, EpochMillis>;
