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

/**
 * A tenure that may be reading a shard although Redis does not say so: it was given the shard by writes that Redis lost. Keeps
 * the shard from everyone until the tenure reports it gone or is over.
 */
export interface Conflict {
  readonly memberId: MemberId;
  readonly memberEpoch: MemberEpoch;
  /** null while the tenure lives; once it was fenced or replaced, the end of its recorded lease. */
  readonly untilMs: EpochMillis | null;
}

export const NO_CONFLICTS: readonly Conflict[] = [];

export interface Shard {
  /** Who should read it; null when no member is eligible. */
  readonly target: MemberId | null;
  readonly occupancy: Occupancy;
  /** Only in a correction round. */
  readonly conflicts: readonly Conflict[];
  /** Token of the last grant. The next grant's is larger. */
  readonly lastToken: FencingToken;
}

/** Why a correction round was started: a version that this history never had, another Redis, a lower revision, an operator. */
export type RoundCause = 'UNKNOWN_VERSION' | 'REDIS_ID' | 'REVISION' | 'RESTORE';

/**
 * Redis lost writes, or may have: who reads what is asked anew before anything is granted (docs/protocol.md, Metadata
 * correction). It ends when every live member has told, and nobody who did not can be reading any more.
 */
export interface CorrectionRound {
  readonly cause: RoundCause;
  /** The metadataVersion that started the round was recorded at: older reports may be of the lost timeline. */
  readonly roundVersion: MetadataVersion;
  readonly startedAtMs: EpochMillis;
  /** The version that betrayed the loss; null for other causes. */
  readonly observedVersion: number | null;
  /** Leases of those who were excluded during the round without having told: it does not end before. */
  readonly silentUntilMs: EpochMillis;
  /** Live members that have told, or that joined in the round. */
  readonly synced: ReadonlySet<MemberId>;
}

/** What is remembered of rounds after their end, so that the same evidence starts no other. */
export interface RoundHistory {
  /** Of the last round, 0: there was none. An unknown version below it was lost before that round. */
  readonly lastRoundVersion: MetadataVersion;
  /** The largest version that started one: those below it that are above the recorded one betray the same loss. */
  readonly lastObservedVersion: number | null;
  /** When a client that is no member started one; null: never. */
  readonly strangerAtMs: EpochMillis | null;
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
  /** Identity of the Redis that took the last write: another one may have lost writes. Empty: none is known. */
  readonly redisId: string;
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
  readonly correction: CorrectionRound | null;
  readonly rounds: RoundHistory;
}

/** The recorded lease deadlines, of live members only. */
export type Leases = ReadonlyMap<MemberId, EpochMillis>;
