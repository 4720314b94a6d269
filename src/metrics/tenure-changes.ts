import type { GroupState } from '../domain/coordinator/decision';
import type { GroupMetadata } from '../domain/group/group-metadata';
import { outlookOf } from '../domain/correction/outlook';
import { isLive, type Member } from '../domain/membership/member';
import type { CoordinationTiming, EpochMillis } from '../domain/time';

export type JoinKind = 'JOINED' | 'REJOINED';

/**
 * Why a tenure ended:
 * EXPIRED                its lease ran out
 * FENCED_DRAIN_DEADLINE  it did not let a shard go in time
 * FENCED_ROUND_SILENCE   it kept a correction round open
 * FENCED_OPERATOR        somebody asked for it
 * FENCED_REPORT          what it reported cannot be: a shard never granted, or unknown versions again and again
 * REPLACED               the member joined anew
 * LEFT                   it left, and holds nothing
 * GROUP_DELETED          with its group
 */
export type TenureEnd =
  | 'EXPIRED'
  | 'FENCED_DRAIN_DEADLINE'
  | 'FENCED_ROUND_SILENCE'
  | 'FENCED_OPERATOR'
  | 'FENCED_REPORT'
  | 'REPLACED'
  | 'LEFT'
  | 'GROUP_DELETED';

/** One committed write. */
export interface CommittedChange {
  readonly before: GroupState;
  readonly after: GroupState;
  /** Names of the commands that were decided in it. */
  readonly commands: readonly string[];
  readonly nowMs: EpochMillis;
  readonly timing: Pick<CoordinationTiming, 'memberLeaseTtlMs' | 'rebalanceTimeoutMs'>;
}

export interface TenureChanges {
  readonly joins: readonly JoinKind[];
  readonly ends: readonly TenureEnd[];
}

const FENCE_COMMAND = 'fence-member';
const NONE: TenureChanges = { joins: [], ends: [] };

/**
 * Which tenures began and ended by a write, told from the states before and after it. Within one write several commands may
 * have fenced members: then the reason is the one that fits the state before.
 */
export function tenureChanges(change: CommittedChange): TenureChanges {
  const before = change.before.metadata;
  const after = change.after.metadata;
  // Tenures of a group that was restored began before; a change of shards alone leaves the members the same object.
  if (before === null || before.members === after?.members) return NONE;
  const ends: TenureEnd[] = [];
  for (const member of before.members.values()) {
    if (!isLive(member)) continue;
    const end = endOf(member, after, before, change);
    if (end !== null) ends.push(end);
  }
  const joins: JoinKind[] = [];
  for (const member of after?.members.values() ?? []) {
    const known = before.members.get(member.memberId);
    if (known?.memberEpoch !== member.memberEpoch) joins.push(known === undefined ? 'JOINED' : 'REJOINED');
  }
  return { joins, ends };
}

function endOf(
  member: Member,
  after: GroupMetadata | null,
  before: GroupMetadata,
  change: CommittedChange,
): TenureEnd | null {
  if (after === null) return 'GROUP_DELETED';
  const now = after.members.get(member.memberId);
  if (now === undefined) return 'LEFT';
  if (now.memberEpoch !== member.memberEpoch) return isLeaseOver(member, change) ? 'EXPIRED' : 'REPLACED';
  if (now.state === 'EXPIRED') return 'EXPIRED';
  return now.state === 'FENCED' ? fenceOf(member, before, change) : null;
}

function isLeaseOver({ memberId }: Member, { before, nowMs }: CommittedChange): boolean {
  return (before.leases.get(memberId) ?? Number.POSITIVE_INFINITY) <= nowMs;
}

function fenceOf(
  { memberId }: Member,
  before: GroupMetadata,
  { nowMs, timing, commands }: CommittedChange,
): TenureEnd {
  const isDrainOver = before.shards.some(
    ({ occupancy }) =>
      occupancy.kind === 'HELD' &&
      occupancy.memberId === memberId &&
      occupancy.drain !== null &&
      occupancy.drain.deadlineMs <= nowMs,
  );
  if (isDrainOver) return 'FENCED_DRAIN_DEADLINE';
  const outlook = outlookOf(before, timing);
  if (outlook !== null && outlook.boundMs <= nowMs) return 'FENCED_ROUND_SILENCE';
  return commands.includes(FENCE_COMMAND) ? 'FENCED_OPERATOR' : 'FENCED_REPORT';
}
