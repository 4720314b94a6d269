import type { GroupMetadata, Leases } from '../../src/domain/group/group-metadata';
import type { GroupKey } from '../../src/domain/ids';
import type { GroupIndex, LoopStore, StreamRegistry } from '../../src/store/group-index';
import type { CommitOutcome, GroupCommit, LoadedGroup, MetadataStore } from '../../src/store/metadata-store';
import type { NoticeBus } from '../../src/store/notice-bus';
import type { StreamProvisioner } from '../../src/store/stream-provisioner';
import { freshWriteId } from './group-fixtures';

/** The fields of a group's hash that a check may tamper with. */
export type TamperedField =
  | 'aggregate'
  | 'revision'
  | 'writeId'
  | 'schemaVersion'
  | 'layoutVersion'
  | 'updatedAt';

/** One fresh set of adapters over one empty store, and the hands of whoever tampers with that store. */
export interface StoreHarness {
  readonly store: MetadataStore;
  readonly index: GroupIndex;
  readonly loop: LoopStore;
  readonly registry: StreamRegistry;
  readonly provisioner: StreamProvisioner;
  readonly notices: NoticeBus;
  /** The store's clock, ms. */
  nowMs(): Promise<number>;
  /** Resolves once the store's clock has moved on by at least so much. */
  passTime(ms: number): Promise<void>;
  tamper(key: GroupKey, field: TamperedField, value: string | null): Promise<void>;
  /** null: the lease is gone. */
  tamperLease(key: GroupKey, memberId: string, text: string | null): Promise<void>;
  /** In the group's place there is something that is none of ours. */
  misplace(key: GroupKey): Promise<void>;
  /** Every field that is stored of a group, as text, in a fixed order; null when nothing is. */
  dump(key: GroupKey): Promise<string | null>;
  addIndexEntry(text: string, dueMs: number): Promise<void>;
  dropIndex(): Promise<void>;
  /** In the place of the index there is something that is none of ours. */
  misplaceIndex(): Promise<void>;
  dueOf(key: GroupKey): Promise<number | null>;
  setLastPass(ms: number): Promise<void>;
  /** On which Redis the last pass was. */
  setLastRedis(redisId: string): Promise<void>;
  /** What the store is told that it is connected to from now on. */
  setRedisId(redisId: string): void;
  close(): Promise<void>;
}

/** One promise of the ports. `run` rejects when the adapters break it. */
export interface ContractCheck {
  readonly promise: string;
  readonly run: (harness: StoreHarness) => Promise<void>;
}

export const LOCK_TTL_MS = 5_000;
export const LEASE_TTL_MS = 15_000;

let lastToken = 0;
export function freshToken(): string {
  lastToken += 1;
  return `token-${lastToken}`;
}

/** A commit that writes `next` and nothing else; fields of `parts` replace its own. */
export function commitOf(
  base: GroupMetadata | null,
  next: GroupCommit['next'],
  token: string,
  parts: Partial<GroupCommit> = {},
): GroupCommit {
  return {
    token,
    base: base === null ? null : { revision: base.storeRevision, writeId: base.writeId },
    next,
    leaseChanges: new Map(),
    expectedLeases: new Map(),
    reports: new Map(),
    announce: false,
    ...parts,
  };
}

/** Takes the lock; rejects when the group is busy or unreadable. */
export async function lock(
  harness: StoreHarness,
  key: GroupKey,
  known: GroupMetadata | null = null,
  lockTtlMs = LOCK_TTL_MS,
): Promise<{ readonly token: string; readonly loaded: LoadedGroup | null }> {
  const token = freshToken();
  const outcome = await harness.store.lockAndLoad(key, { token, lockTtlMs, known });
  if (outcome.kind === 'LOADED') return { token, loaded: outcome };
  if (outcome.kind === 'MISSING') return { token, loaded: null };
  throw new Error(`the lock was not had: ${outcome.kind}`);
}

/** One whole section. */
export async function section(
  harness: StoreHarness,
  key: GroupKey,
  next: GroupCommit['next'],
  parts: Partial<GroupCommit> = {},
): Promise<CommitOutcome> {
  const { token, loaded } = await lock(harness, key);
  return harness.store.commitAndUnlock(key, commitOf(loaded?.metadata ?? null, next, token, parts));
}

/** Stores `metadata` as a new group. */
export async function create(harness: StoreHarness, metadata: GroupMetadata, leases: Leases): Promise<void> {
  const outcome = await section(harness, metadata, metadata, { leaseChanges: leases });
  if (outcome.kind !== 'COMMITTED') throw new Error(`the group was not created: ${outcome.kind}`);
}

export async function loaded(harness: StoreHarness, key: GroupKey): Promise<LoadedGroup> {
  const outcome = await harness.store.load(key);
  if (outcome.kind !== 'LOADED') throw new Error(`the group was not read: ${JSON.stringify(outcome)}`);
  return outcome;
}

/** Another value of the same revision: what a rollback and a new write leave behind. */
export function twinOf(metadata: GroupMetadata): GroupMetadata {
  return { ...metadata, writeId: freshWriteId() };
}
