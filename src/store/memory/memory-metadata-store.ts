import type { MemberReport } from '../../domain/coordinator/decision';
import type { GroupMetadata } from '../../domain/group/group-metadata';
import { groupKeyText, parseMemberId, type GroupKey, type MemberId } from '../../domain/ids';
import type { EpochMillis } from '../../domain/time';
import { AggregateSizes } from '../aggregate-sizes';
import { encodeAggregate, LAYOUT_VERSION, SCHEMA_VERSION } from '../aggregate-writer';
import {
  decodeReport,
  encodeReport,
  encodeReportRest,
  readDeadline,
  readStoredGroup,
  withLeases,
  type ReadGroup,
} from '../codec';
import {
  holdsLock,
  isOfAnotherRedis,
  type CommitOutcome,
  type GroupCommit,
  type LeaseRenewal,
  type LoadOutcome,
  type LockOutcome,
  type LockRequest,
  type MetadataStore,
  type RenewalOutcome,
} from '../metadata-store';
import { withEntry, type MemoryGroup, type MemoryNode } from './memory-node';

/**
 * The metadata store in this process: for tests and the simulation. Values go through the codec as on the way to Redis, so
 * nothing is shared with the caller; what is returned is frozen.
 */
export class MemoryMetadataStore implements MetadataStore {
  private readonly sizes = new AggregateSizes();

  constructor(private readonly node: MemoryNode) {}

  async lockAndLoad(key: GroupKey, request: LockRequest): Promise<LockOutcome> {
    const { node } = this;
    const text = groupKeyText(key);
    const redisNowMs = node.now();
    const lock = node.lockOf(text);
    if (lock !== null) return { kind: 'BUSY', remainingMs: lock.untilMs - redisNowMs, redisNowMs };
    const loaded = this.read(key, request.known);
    if (holdsLock(loaded, request)) {
      const untilMs = redisNowMs + request.lockTtlMs;
      node.locks = withEntry(node.locks, text, { token: request.token, untilMs });
    }
    return loaded;
  }

  async commitAndUnlock(key: GroupKey, commit: GroupCommit): Promise<CommitOutcome> {
    const { node } = this;
    const text = groupKeyText(key);
    if (node.lockOf(text)?.token !== commit.token) return { kind: 'LOCK_LOST' };
    if (isOfAnotherRedis(commit, node.redisId)) {
      await this.unlock(key, commit.token);
      return { kind: 'LOCK_LOST' };
    }
    const stored = node.groups.get(text) ?? null;
    const refusal = refusalOf(commit, stored);
    if (refusal === null) node.groups = withEntry(node.groups, text, this.applied(commit, stored));
    node.locks = withEntry(node.locks, text, null);
    if (refusal !== null) return refusal;
    if (commit.announce) node.publish(text);
    return { kind: 'COMMITTED', redisNowMs: node.now() };
  }

  async unlock(key: GroupKey, token: string): Promise<void> {
    const text = groupKeyText(key);
    if (this.node.lockOf(text)?.token === token) this.node.locks = withEntry(this.node.locks, text, null);
  }

  async load(key: GroupKey, known?: GroupMetadata): Promise<LoadOutcome> {
    return this.read(key, known ?? null);
  }

  async renewLeases(key: GroupKey, renewal: LeaseRenewal): Promise<RenewalOutcome> {
    const { node } = this;
    const text = groupKeyText(key);
    const stored = node.groups.get(text);
    const isBase = stored !== undefined && this.isSame(stored, renewal.base);
    const updatedAtMs = readDeadline(stored?.updatedAt ?? '');
    if (!isBase || updatedAtMs === null || renewal.base.redisId !== node.redisId) return { kind: 'STALE' };
    const redisNowMs = node.now();
    const nowMs = Math.max(redisNowMs, updatedAtMs);
    const untilMs = (nowMs + renewal.leaseTtlMs) as EpochMillis;
    const leases = new Map(stored.leases);
    const reports = new Map(stored.reports);
    const renewed = new Map<MemberId, EpochMillis>();
    for (const [memberId, report] of renewal.reports) {
      const deadlineMs = readDeadline(stored.leases.get(memberId) ?? '');
      if (deadlineMs === null || deadlineMs <= nowMs) continue; // run out: nothing is revived
      leases.set(memberId, String(Math.max(deadlineMs, untilMs)));
      reports.set(memberId, `{"receivedAtMs":${nowMs},${encodeReportRest(report)}`);
      renewed.set(memberId, Math.max(deadlineMs, untilMs) as EpochMillis);
    }
    node.groups = withEntry(node.groups, text, { ...stored, leases, reports });
    return { kind: 'RENEWED', renewed, redisNowMs };
  }

  async loadReports(key: GroupKey): Promise<ReadonlyMap<MemberId, MemberReport>> {
    const reports = new Map<MemberId, MemberReport>();
    for (const [field, json] of this.node.groups.get(groupKeyText(key))?.reports ?? []) {
      const memberId = parseMemberId(field);
      const report = decodeReport(json);
      if (memberId !== null && report !== null) reports.set(memberId, report);
    }
    return reports;
  }

  private read(key: GroupKey, known: GroupMetadata | null): LoadOutcome {
    const { redisId } = this.node;
    const redisNowMs = this.node.now();
    const stored = this.node.groups.get(groupKeyText(key));
    if (stored === undefined) return { kind: 'MISSING', redisNowMs, redisId };
    const flatLeases = [...stored.leases].flat();
    const read: ReadGroup =
      known !== null && this.isSame(stored, known)
        ? withLeases(known, flatLeases)
        : readStoredGroup(key, stored, flatLeases);
    if (read.kind !== 'READ') return { ...read, redisNowMs, redisId };
    if (read.metadata !== known) {
      deepFreeze(read.metadata);
      this.sizes.remember(read.metadata, stored.aggregate ?? '');
    }
    return { kind: 'LOADED', metadata: read.metadata, leases: read.leases, redisNowMs, redisId };
  }

  private isSame(stored: MemoryGroup, known: GroupMetadata): boolean {
    return (
      stored.revision === String(known.storeRevision) &&
      stored.writeId === known.writeId &&
      stored.schemaVersion === SCHEMA_VERSION &&
      stored.layoutVersion === LAYOUT_VERSION &&
      Buffer.byteLength(stored.aggregate ?? '') === this.sizes.of(known)
    );
  }

  private applied(commit: GroupCommit, stored: MemoryGroup | null): MemoryGroup | null {
    const { next } = commit;
    if (next === null) return null;
    const kept = commit.replacesCorrupt === true ? null : stored;
    const leases = changedLeases(kept?.leases ?? new Map(), commit.leaseChanges);
    const reports = changedReports(kept?.reports ?? new Map(), commit.reports);
    if (next === 'UNCHANGED') return stored === null ? null : { ...stored, leases, reports };
    const aggregate = encodeAggregate(next);
    this.sizes.remember(next, aggregate);
    return {
      aggregate,
      revision: String(next.storeRevision),
      writeId: next.writeId,
      schemaVersion: SCHEMA_VERSION,
      layoutVersion: LAYOUT_VERSION,
      updatedAt: String(next.updatedAtMs),
      redisId: next.redisId,
      leases,
      reports,
    };
  }
}

/** Everything that is checked before anything is written. */
function refusalOf(commit: GroupCommit, stored: MemoryGroup | null): CommitOutcome | null {
  if (!isBaseStored(commit, stored)) return { kind: 'REVISION_CONFLICT' };
  for (const [memberId, deadlineMs] of commit.expectedLeases) {
    if (stored?.leases.get(memberId) !== String(deadlineMs)) return { kind: 'LEASE_MOVED' };
  }
  return null;
}

function isBaseStored({ base, replacesCorrupt }: GroupCommit, stored: MemoryGroup | null): boolean {
  if (base === null) return (stored !== null) === (replacesCorrupt === true);
  return stored?.revision === String(base.revision) && stored.writeId === base.writeId;
}

/** A deadline never moves back while it is recorded: its member was told of it. */
function changedLeases(
  leases: ReadonlyMap<string, string>,
  changes: ReadonlyMap<MemberId, EpochMillis | null>,
): ReadonlyMap<string, string> {
  const changed = new Map(leases);
  for (const [memberId, deadlineMs] of changes) {
    if (deadlineMs === null) changed.delete(memberId);
    else changed.set(memberId, String(Math.max(deadlineMs, readDeadline(leases.get(memberId) ?? '') ?? 0)));
  }
  return changed;
}

function changedReports(
  reports: ReadonlyMap<string, string>,
  changes: ReadonlyMap<MemberId, MemberReport | null>,
): ReadonlyMap<string, string> {
  const changed = new Map(reports);
  for (const [memberId, report] of changes) {
    if (report === null) changed.delete(memberId);
    else changed.set(memberId, encodeReport(report));
  }
  return changed;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  if (value instanceof Map) for (const entry of value.values()) deepFreeze(entry);
  else for (const entry of Object.values(value)) deepFreeze(entry);
}
