import type { MemberReport } from '../domain/coordinator/decision';
import type { StoreRevision } from '../domain/epochs';
import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import type { GroupKey, MemberId, WriteId } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import type { RedisFault } from '../redis/redis-fault';

/**
 * The metadata store: one value per group, changed only under the group's lock and only from the revision that was read.
 * All adapters keep the same promises (test/contract/metadata-store.contract.ts):
 * a commit happens wholly or not at all; it is refused once the lock's token is lost, even if nobody else wrote; it is
 * refused when revision or write id moved, or when a lease it decided on was renewed; an unlock with another's token
 * unlocks nothing; every call ends within the adapter's deadline, with a `StoreError` when Redis could not be asked.
 * Reads say which Redis answered; one that is not known to be the same as before takes no write that was decided before.
 * Values that are returned are never changed afterwards, by neither side.
 */
export interface MetadataStore {
  /** Takes the section lock, and reads, in one step. `known` spares the transfer of an aggregate that is still current. */
  lockAndLoad(key: GroupKey, request: LockRequest): Promise<LockOutcome>;
  /** Writes and releases the lock in one step. */
  commitAndUnlock(key: GroupKey, commit: GroupCommit): Promise<CommitOutcome>;
  /** Releases the lock if the token still holds it; a lost lock is no error. */
  unlock(key: GroupKey, token: string): Promise<void>;
  /** Reads without lock (routing, monitoring, long polls). */
  load(key: GroupKey, known?: GroupMetadata): Promise<LoadOutcome>;
  /** The lease fast path: renews leases that have not run out, if the group is exactly `base`. No lock. */
  renewLeases(key: GroupKey, renewal: LeaseRenewal): Promise<RenewalOutcome>;
  /** Last reports of members, for monitoring. */
  loadReports(key: GroupKey): Promise<ReadonlyMap<MemberId, MemberReport>>;
}

export interface LockRequest {
  /** Random, one per section. */
  readonly token: string;
  readonly lockTtlMs: number;
  /** What this process last saw confirmed, or null. */
  readonly known: GroupMetadata | null;
  /** The lock is held also when the value is CORRUPT: it is to be replaced. */
  readonly holdsCorrupt?: boolean;
}

/** A group as read. */
export interface LoadedGroup {
  readonly kind: 'LOADED';
  readonly metadata: GroupMetadata;
  readonly leases: Leases;
  readonly redisNowMs: EpochMillis;
  /** Of the Redis that answered; `metadata.redisId` is that of the Redis that took the last write. */
  readonly redisId: string;
}

/** The stored value makes no sense. */
export interface CorruptGroup {
  readonly kind: 'CORRUPT';
  readonly reason: string;
  readonly redisNowMs: EpochMillis;
  readonly redisId: string;
}

/**
 * Nothing is overwritten in these cases; a lock that was taken is released again before they are returned, unless it was asked
 * for to replace a corrupt value. What another version of this software wrote is replaced by nobody.
 */
export type Unreadable =
  | CorruptGroup
  | {
      readonly kind: 'SCHEMA_UNSUPPORTED';
      readonly schemaVersion: string;
      readonly layoutVersion: string;
      readonly redisNowMs: EpochMillis;
      readonly redisId: string;
    };

export type LoadOutcome =
  | LoadedGroup
  | { readonly kind: 'MISSING'; readonly redisNowMs: EpochMillis; readonly redisId: string }
  | Unreadable;

/** LOADED and MISSING hold the lock (a missing group can be created); the others do not, CORRUPT only if asked to. */
export type LockOutcome =
  | LoadOutcome
  | { readonly kind: 'BUSY'; readonly remainingMs: number; readonly redisNowMs: EpochMillis };

/** Whether an outcome leaves its caller with the lock. */
export function holdsLock({ kind }: LoadOutcome, { holdsCorrupt }: LockRequest): boolean {
  return kind === 'LOADED' || kind === 'MISSING' || (kind === 'CORRUPT' && holdsCorrupt === true);
}

export interface GroupCommit {
  readonly token: string;
  /** What the decision started from; null: the group must not exist. */
  readonly base: { readonly revision: StoreRevision; readonly writeId: WriteId } | null;
  /**
   * With `base: null`, under a lock that was taken with `holdsCorrupt`: something unreadable is stored, and `next` replaces it
   * with all that lies beside it.
   */
  readonly replacesCorrupt?: boolean;
  /**
   * The stamped new value (revision above the base's, new write id, `redisId` of the load); `'UNCHANGED'`: only leases and reports are written, revision and
   * write id stay; null: the group is deleted.
   */
  readonly next: GroupMetadata | 'UNCHANGED' | null;
  /** A deadline that is recorded never moves back: its member was told of it (a renewal may have come in between). */
  readonly leaseChanges: ReadonlyMap<MemberId, EpochMillis | null>;
  /** Leases as read, of members whose tenure ends by this write. */
  readonly expectedLeases: ReadonlyMap<MemberId, EpochMillis>;
  readonly reports: ReadonlyMap<MemberId, MemberReport | null>;
  /** Tell other coordinators that the group changed (a hint, may get lost). */
  readonly announce: boolean;
}

/**
 * Whether the write was decided on what another Redis held. Renewals that it took since then are missing in this one: nobody
 * may be ended by what was read there.
 */
export function isOfAnotherRedis({ next }: GroupCommit, redisId: string): boolean {
  return next !== null && next !== 'UNCHANGED' && next.redisId !== redisId;
}

/** On anything but COMMITTED nothing was written. The lock is released, or was lost before. */
export type CommitOutcome =
  | { readonly kind: 'COMMITTED'; readonly redisNowMs: EpochMillis }
  /** Also when `next` names another Redis than the one that is asked: the lock was taken there. */
  | { readonly kind: 'LOCK_LOST' }
  | { readonly kind: 'REVISION_CONFLICT' }
  | { readonly kind: 'LEASE_MOVED' };

export interface LeaseRenewal {
  /** The confirmed value on which the heartbeats were judged: write id, revision, schema and layout version and the stored length are compared. */
  readonly base: GroupMetadata;
  readonly leaseTtlMs: number;
  readonly reports: ReadonlyMap<MemberId, MemberReportInput>;
}

/** A report before its time is known: the script stamps it with the Redis clock. */
export type MemberReportInput = Omit<MemberReport, 'receivedAtMs'>;

export type RenewalOutcome =
  /** `renewed`: each member's new deadline. A member that is missing in it had run out: it needs a section. */
  | { readonly kind: 'RENEWED'; readonly renewed: Leases; readonly redisNowMs: EpochMillis }
  /** The group is no longer `base`, or this is another Redis than the one that took it: every heartbeat of the batch needs a section. */
  | { readonly kind: 'STALE' };

/** Redis could not be asked or refused. The write of a commit may or may not have happened: the next load tells. */
export class StoreError extends Error {
  readonly code = 'METADATA_STORE_UNAVAILABLE';
  constructor(
    readonly operation: string,
    /** Closed set, for metrics and logs. */
    readonly fault: StoreFault,
    readonly retryable: boolean,
    options: { cause: unknown },
  ) {
    super(`metadata store unavailable during ${operation} (${fault})`, options);
    this.name = 'StoreError';
  }
}

/** The same closed set on both sides of the port. */
export type StoreFault = RedisFault;
