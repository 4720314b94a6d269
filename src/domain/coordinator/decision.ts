import type { MetadataVersion } from '../epochs';
import type { GroupMetadata, Leases, RoundCause } from '../group/group-metadata';
import type { MemberId } from '../ids';
import type { CoordinationTiming, EpochMillis } from '../time';

/** What a decision may rely on besides the group. Built by the critical section after the load. */
export interface DecisionContext {
  /** The Redis clock as read by the script that loaded the group, never below the group's updatedAtMs. */
  readonly nowMs: EpochMillis;
  /** Numbers are drawn from this: the larger of nowMs and the coordinator's own estimate of the Redis clock. */
  readonly drawMs: EpochMillis;
  readonly timing: CoordinationTiming;
  /** False in a quiet period: nobody is expired, fenced for a deadline or a claim, and no block ends. */
  readonly mayEndTenures: boolean;
  /** False while this coordinator cannot know who reads: nothing is granted. */
  readonly mayGrant: boolean;
  readonly maxMembers: number;
  /**
   * The metadataVersion as loaded; null: there was no group. What is decided together is recorded in one write, under one new
   * version.
   */
  readonly recordedVersion: MetadataVersion | null;
  /** Identity of the Redis that the group was loaded from: its run id and replication id. */
  readonly redisId: string;
  /** What this process last saw confirmed of the group, before this load; null: nothing. */
  readonly remembered: RememberedWrite | null;
}

/** One committed write of a group. */
export type RememberedWrite = Pick<GroupMetadata, 'incarnation' | 'storeRevision' | 'writeId'>;

export interface GroupState {
  /** null: the group does not exist. */
  readonly metadata: GroupMetadata | null;
  readonly leases: Leases;
}

/** What people must hear of: logged and counted. */
export type Alert =
  | 'SHARD_NEVER_GRANTED'
  | 'ASSIGNOR_FAILED'
  /** A member that had told what it reads showed yet another version that was never recorded, and was fenced. */
  | 'UNKNOWN_VERSION_AGAIN'
  /** A version that no clock can have given out, of a client that is no member: it starts nothing. */
  | 'INVENTED_VERSION';

/**
 * Carried out by the shell after the commit; idempotent.
 * PROVISION  create the streams and Redis groups that are missing; the tick derives it again until that is recorded
 * ALERT      log and count; lost when the process dies first
 * CORRECTION a correction round has started or ended: log and count
 */
export type Effect =
  | { readonly kind: 'PROVISION' }
  | { readonly kind: 'ALERT'; readonly alert: Alert; readonly detail: string }
  | {
      readonly kind: 'CORRECTION';
      readonly event: 'STARTED' | 'ENDED';
      readonly cause: RoundCause;
      /** Milliseconds since its start. */
      readonly ageMs: number;
      readonly detail: string;
    };

/** What a member last reported, stored beside the aggregate: a change of only this changes nothing. */
export interface MemberReport {
  readonly receivedAtMs: EpochMillis;
  readonly availableConcurrency: number;
  readonly progress: readonly unknown[];
}

/** The outcome of a command on a group. `metadata` is the same object when nothing of the aggregate changes. */
export interface Decision<Reply> {
  readonly metadata: GroupMetadata | null;
  /** Leases to record (deadline) or to remove (null). */
  readonly leaseChanges: ReadonlyMap<MemberId, EpochMillis | null>;
  /** Members whose tenure this decision ended: the commit is refused if a renewal moved their lease in between. */
  readonly endedTenures: readonly MemberId[];
  readonly reports: ReadonlyMap<MemberId, MemberReport | null>;
  readonly effects: readonly Effect[];
  /** Answer derived from what was written; called with the committed state, after all commands of a batch. */
  readonly reply: (committed: GroupState) => Reply;
}

/** Data plus a pure function: what a controller or the event loop hands to the critical section. */
export interface GroupCommand<Reply> {
  /** For logs and metrics, e.g. `heartbeat`, `create-group`. */
  readonly name: string;
  /**
   * Set by heartbeats: when `decide` on the last confirmed value changes nothing but the lease and report of this member, the
   * critical section may answer by the lease fast path, without lock or load.
   */
  readonly renews?: MemberId;
  readonly decide: (state: GroupState, context: DecisionContext) => Decision<Reply>;
}
