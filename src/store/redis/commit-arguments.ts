import { groupKeyText, type GroupKey } from '../../domain/ids';
import type { RedisArgument } from '../../redis/redis-commands';
import { encodeAggregate, LAYOUT_VERSION, SCHEMA_VERSION } from '../aggregate-writer';
import { encodeReport } from '../codec';
import type { GroupCommit } from '../metadata-store';

const leaseField = (memberId: string): string => `lease:${memberId}`;
const reportField = (memberId: string): string => `seen:${memberId}`;

/** ARGV of section/commit-and-unlock.lua, and the aggregate in it (empty when none is written). */
export function commitArguments(
  key: GroupKey,
  commit: GroupCommit,
  noticeChannel: string,
): { readonly args: readonly RedisArgument[]; readonly aggregate: string } {
  const written = writtenValue(commit);
  const expected = [...commit.expectedLeases].flatMap(([id, deadlineMs]) => [leaseField(id), deadlineMs]);
  const leases: RedisArgument[] = [];
  const removed: string[] = [];
  const reports: string[] = [];
  for (const [memberId, deadlineMs] of commit.leaseChanges) {
    if (deadlineMs === null) removed.push(leaseField(memberId));
    else leases.push(leaseField(memberId), deadlineMs);
  }
  for (const [memberId, report] of commit.reports) {
    if (report === null) removed.push(reportField(memberId));
    else reports.push(reportField(memberId), encodeReport(report));
  }
  const args = [
    commit.token,
    commit.base === null ? '' : commit.base.revision,
    commit.base === null ? '' : commit.base.writeId,
    commit.replacesCorrupt === true && written.mode === 'WRITE' ? 'REPLACE' : written.mode,
    commit.announce ? noticeChannel : '',
    groupKeyText(key),
    ...written.fields,
    commit.expectedLeases.size,
    leases.length / 2,
    removed.length,
    reports.length / 2,
    ...expected,
    ...leases,
    ...removed,
    ...reports,
  ];
  return { args, aggregate: written.aggregate };
}

const NO_FIELDS = ['', '', '', '', '', '', ''];

function writtenValue(commit: GroupCommit): {
  readonly mode: 'WRITE' | 'KEEP' | 'DELETE';
  readonly fields: readonly RedisArgument[];
  readonly aggregate: string;
} {
  const { next } = commit;
  if (next === null) return { mode: 'DELETE', fields: NO_FIELDS, aggregate: '' };
  if (next === 'UNCHANGED') return { mode: 'KEEP', fields: NO_FIELDS, aggregate: '' };
  const aggregate = encodeAggregate(next);
  const fields = [
    aggregate,
    next.storeRevision,
    next.writeId,
    SCHEMA_VERSION,
    LAYOUT_VERSION,
    next.updatedAtMs,
    next.redisId,
  ];
  return { mode: 'WRITE', fields, aggregate };
}
