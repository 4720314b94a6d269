import type { GroupKey } from '../domain/ids';
import type { EpochMillis } from '../domain/time';

/**
 * Which groups exist and when the event loop must next look at each: auxiliary, can be rebuilt. An entry that is too early
 * costs a look; one that is too late is what must not happen, so earlier times are written before the commit that needs them.
 */
export interface GroupIndex {
  /** Brings a due time forward (or adds the group); never moves it back. Before a commit. */
  bringForward(key: GroupKey, dueMs: EpochMillis): Promise<void>;
  /** Sets a due time that was computed from the group as just read, unless it was brought forward to before `seenDueMs` meanwhile. */
  postpone(key: GroupKey, seenDueMs: EpochMillis, dueMs: EpochMillis): Promise<void>;
  remove(key: GroupKey): Promise<void>;
  /** All entries, a page at a time (for GET /monitoring/groups). Foreign members are skipped. */
  list(
    cursor: string | null,
    limit: number,
  ): Promise<{ readonly keys: readonly GroupKey[]; readonly cursor: string | null }>;
  /**
   * Adds every group whose metadata key exists, readable or not, and that is missing here; returns how many. Replaces what is no
   * index. Scans, so it is not cheap.
   */
  repair(): Promise<number>;
}

/** What one pass of the event loop learns, in one call. */
export interface LoopPass {
  readonly redisNowMs: EpochMillis;
  /** Groups that are due, each with its score, earliest first, at most `limit`. */
  readonly due: readonly { readonly key: GroupKey; readonly dueMs: EpochMillis }[];
  /** The running or last quiet period of the Redis node; null: there never was one. */
  readonly quiet: QuietPeriod | null;
}

/** A time in which nobody is expired or fenced by the coordinator (docs/protocol.md, quiet period). */
export interface QuietPeriod {
  /** When its cause was noticed, by the Redis clock. Groups created later are not affected. */
  readonly causedAtMs: EpochMillis;
  readonly untilMs: EpochMillis;
}

export interface LoopStore {
  /**
   * Records that an event loop passed, starts a quiet period of `leaseTtlMs` when none had passed for longer than
   * `outageAfterMs` (or never, or in the future), when `clockJumped`, or when the last one was on another Redis, and returns
   * what is due.
   */
  pass(request: {
    readonly coordinatorId: string;
    readonly outageAfterMs: number;
    readonly leaseTtlMs: number;
    readonly clockJumped: boolean;
    /** Whether the caller has passed here before: a record that is gone then was lost. */
    readonly hasPassed: boolean;
    /** 0: only record the pass (while an earlier pass is under way). */
    readonly limit: number;
  }): Promise<LoopPass>;
  /**
   * What this Redis may have lost of late, asked before a group is created. There is a record from the first pass of any
   * coordinator on: without one, everything is gone.
   */
  lossSeen(): Promise<{
    readonly isRecordMissing: boolean;
    /** Members of a group that Redis forgot have stopped by then; null: nothing was ever lost. */
    readonly untilMs: EpochMillis | null;
  }>;
}

/** Streams under coordination and their groups (docs/protocol.md, Redis layout). */
export interface StreamRecord {
  readonly revision: number;
  readonly shardCount: number;
  readonly consumerGroups: readonly string[];
  /** By name of a deleted group: when its members have stopped reading at the latest (docs/adr/0005). */
  readonly formerLives: ReadonlyMap<string, EpochMillis>;
}

/** What is written of a record; without `formerLives` there are none. */
export type NextStreamRecord = Omit<StreamRecord, 'revision' | 'formerLives'> &
  Partial<Pick<StreamRecord, 'formerLives'>>;

export interface StreamRegistry {
  load(streamPrefix: string): Promise<StreamRecord | null>;
  /**
   * Compare-and-set: writes `next` if the record's revision is still `base` (null: absent). A record without groups and
   * without former lives is removed.
   */
  save(streamPrefix: string, base: number | null, next: NextStreamRecord): Promise<boolean>;
}
