import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import { findViolations } from '../domain/group/invariants';
import { parseMemberId, type GroupKey, type MemberId } from '../domain/ids';
import type { MemberReport } from '../domain/coordinator/decision';
import type { EpochMillis } from '../domain/time';
import { decodeAggregate } from './aggregate-reader';
import { LAYOUT_VERSION, SCHEMA_VERSION } from './aggregate-writer';
import type { MemberReportInput } from './metadata-store';
import { readCount, readInteger, readList, readObject, UnreadableValueError } from './strict-json';

/** The fields of a group's hash as stored; null: the field is missing. */
export interface StoredGroup {
  readonly aggregate: string | null;
  readonly revision: string | null;
  readonly writeId: string | null;
  readonly schemaVersion: string | null;
  readonly layoutVersion: string | null;
  readonly updatedAt: string | null;
  /** Not repeated in the aggregate; builds that did not know it leave it out. */
  readonly redisId: string | null;
}

export type Unread =
  | { readonly kind: 'CORRUPT'; readonly reason: string }
  | { readonly kind: 'SCHEMA_UNSUPPORTED'; readonly schemaVersion: string; readonly layoutVersion: string };
export type ReadGroup =
  | { readonly kind: 'READ'; readonly metadata: GroupMetadata; readonly leases: Leases }
  | Unread;

/**
 * Reads what is stored under `key`, with its lease fields as `[memberId, deadline, memberId, deadline, ...]`. Whatever
 * cannot be relied on is said, never repaired.
 */
export function readStoredGroup(
  key: GroupKey,
  stored: StoredGroup,
  flatLeases: readonly string[],
): ReadGroup {
  const { schemaVersion, layoutVersion, aggregate } = stored;
  if (schemaVersion === null || layoutVersion === null) return corrupt('schema or layout version is missing');
  if (schemaVersion !== SCHEMA_VERSION || layoutVersion !== LAYOUT_VERSION) {
    return { kind: 'SCHEMA_UNSUPPORTED', schemaVersion, layoutVersion };
  }
  if (aggregate === null) return corrupt('aggregate is missing');
  try {
    const metadata = decodeAggregate(aggregate, stored.redisId ?? '');
    const reason = contradiction(key, metadata, stored);
    return reason === null ? withLeases(metadata, flatLeases) : corrupt(reason);
  } catch (error) {
    if (error instanceof SyntaxError) return corrupt('aggregate is not JSON');
    if (error instanceof UnreadableValueError) return corrupt(error.message);
    throw error;
  }
}

/** A group whose aggregate was read before, with its leases as they are now. */
export function withLeases(metadata: GroupMetadata, flatLeases: readonly string[]): ReadGroup {
  const read = readLeases(flatLeases);
  if ('reason' in read) return corrupt(read.reason);
  const violations = findViolations(metadata, read.leases);
  return violations.length === 0
    ? { kind: 'READ', metadata, leases: read.leases }
    : corrupt(violations.join('; '));
}

/** The fields beside the aggregate repeat it for the scripts' comparisons: each must say the same. */
function contradiction(key: GroupKey, metadata: GroupMetadata, stored: StoredGroup): string | null {
  if (metadata.streamPrefix !== key.streamPrefix || metadata.consumerGroup !== key.consumerGroup) {
    return 'aggregate is of another group';
  }
  if (stored.revision !== String(metadata.storeRevision)) {
    return `revision is ${shown(stored.revision)}, the aggregate's is ${metadata.storeRevision}`;
  }
  if (stored.writeId !== metadata.writeId) return 'writeId differs from that of the aggregate';
  if (stored.updatedAt !== String(metadata.updatedAtMs)) {
    return `updatedAt is ${shown(stored.updatedAt)}, the aggregate's is ${metadata.updatedAtMs}`;
  }
  return null;
}

function corrupt(reason: string): Unread {
  return { kind: 'CORRUPT', reason };
}

const SHOWN_LENGTH = 40;
function shown(text: string | null): string {
  return text === null ? 'missing' : JSON.stringify(text.slice(0, SHOWN_LENGTH));
}

/** A deadline as stored; null when it is none. */
export function readDeadline(text: string): EpochMillis | null {
  return readInteger(text) as EpochMillis | null;
}

function readLeases(flat: readonly string[]): { readonly leases: Leases } | { readonly reason: string } {
  const leases = new Map<MemberId, EpochMillis>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const memberId = parseMemberId(flat[index] ?? '');
    const deadlineMs = readDeadline(flat[index + 1] ?? '');
    if (memberId === null || deadlineMs === null) {
      return { reason: `lease of ${shown(flat[index] ?? null)} is not a deadline` };
    }
    leases.set(memberId, deadlineMs);
  }
  return { leases };
}

export function encodeReport(report: MemberReport): string {
  return `{"receivedAtMs":${report.receivedAtMs},${encodeReportRest(report)}`;
}

/** All of a stored report behind its time of receipt, which only the script knows that stamps it. */
export function encodeReportRest(report: MemberReportInput): string {
  const { availableConcurrency, progress } = report;
  return JSON.stringify({ availableConcurrency, progress }).slice(1);
}

/** null when it is not readable: reports are for observation, nothing depends on them. */
export function decodeReport(json: string): MemberReport | null {
  try {
    const stored = readObject(JSON.parse(json), 'report', [
      'receivedAtMs',
      'availableConcurrency',
      'progress',
    ]);
    return {
      receivedAtMs: readCount(stored['receivedAtMs'], 'receivedAtMs') as EpochMillis,
      availableConcurrency: readCount(stored['availableConcurrency'], 'availableConcurrency'),
      progress: readList(stored['progress'], 'progress'),
    };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnreadableValueError) return null;
    throw error;
  }
}
