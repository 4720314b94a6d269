import type { GroupStateName } from '../domain/group/derived-state';
import type { MemberState } from '../domain/membership/member';
import type { GroupLook } from './group-look';

export type UnreadableKind = 'CORRUPT' | 'SCHEMA_UNSUPPORTED';

export const GROUP_STATES: readonly GroupStateName[] = ['EMPTY', 'ASSIGNING', 'RECONCILING', 'STABLE'];
export const MEMBER_STATES: readonly MemberState[] = ['STARTING', 'ACTIVE', 'LEAVING', 'EXPIRED', 'FENCED'];
export const UNREADABLE_KINDS: readonly UnreadableKind[] = ['CORRUPT', 'SCHEMA_UNSUPPORTED'];

/** Groups that are remembered at most; the one that was looked at longest ago is forgotten first. */
const MAX_GROUPS = 50_000;

/** All groups that were looked at lately, together. Times in milliseconds; null: there is none to be timed. */
export interface GroupTotals {
  readonly groups: ReadonlyMap<GroupStateName, number>;
  readonly members: ReadonlyMap<MemberState, number>;
  readonly unreadable: ReadonlyMap<UnreadableKind, number>;
  readonly shortestLeaseMs: number | null;
  readonly revokingShards: number;
  readonly oldestDrainAgeMs: number | null;
  readonly blockedShards: number;
  readonly conflictedShards: number;
  readonly ungrantedShards: number;
  readonly unprovisionedGroups: number;
  readonly activeRounds: number;
  readonly oldestRoundAgeMs: number | null;
  readonly membersToTell: number;
}

interface Remembered {
  readonly seen: Omit<GroupLook, 'heartbeatAgesMs'> | UnreadableKind;
  readonly seenAtMs: number;
  readonly keptUntilMs: number;
}

/**
 * What the event loop of this coordinator saw of each group. Every group is looked at once per lease by one coordinator or
 * another; a look that is older than two leases is another one's by now. So the totals of all coordinators add up to the whole, about.
 */
export class GroupTally {
  private readonly groups = new Map<string, Remembered>();

  /** `nowMs`: a monotonic clock. */
  constructor(private readonly nowMs: () => number) {}

  looked(group: string, look: GroupLook, keepMs: number): void {
    const { heartbeatAgesMs: _counted, ...seen } = look;
    this.remember(group, seen, keepMs);
  }

  unreadable(group: string, kind: UnreadableKind, keepMs: number): void {
    this.remember(group, kind, keepMs);
  }

  gone(group: string): void {
    this.groups.delete(group);
  }

  totals(): GroupTotals {
    const nowMs = this.nowMs();
    const totals = emptyTotals();
    for (const [group, { seen, seenAtMs, keptUntilMs }] of this.groups) {
      if (nowMs >= keptUntilMs) this.groups.delete(group);
      else if (typeof seen === 'string') increase(totals.unreadable, seen, 1);
      else add(totals, seen, nowMs - seenAtMs);
    }
    return totals;
  }

  private remember(group: string, seen: Remembered['seen'], keepMs: number): void {
    const seenAtMs = this.nowMs();
    this.groups.delete(group); // to the end of the order in which groups are forgotten
    this.groups.set(group, { seen, seenAtMs, keptUntilMs: seenAtMs + keepMs });
    const [oldest] = this.groups.keys();
    if (this.groups.size > MAX_GROUPS && oldest !== undefined) this.groups.delete(oldest);
  }
}

type Mutable<Value> = {
  -readonly [Key in keyof Value]: Value[Key] extends ReadonlyMap<infer Name, number>
    ? Map<Name, number>
    : Value[Key];
};

function emptyTotals(): Mutable<GroupTotals> {
  return {
    groups: new Map(GROUP_STATES.map((state) => [state, 0])),
    members: new Map(MEMBER_STATES.map((state) => [state, 0])),
    unreadable: new Map(UNREADABLE_KINDS.map((kind) => [kind, 0])),
    shortestLeaseMs: null,
    revokingShards: 0,
    oldestDrainAgeMs: null,
    blockedShards: 0,
    conflictedShards: 0,
    ungrantedShards: 0,
    unprovisionedGroups: 0,
    activeRounds: 0,
    oldestRoundAgeMs: null,
    membersToTell: 0,
  };
}

/** What is open ages on since the look; leases do not: they are renewed in between. */
function add(totals: Mutable<GroupTotals>, seen: Omit<GroupLook, 'heartbeatAgesMs'>, sinceMs: number): void {
  increase(totals.groups, seen.state, 1);
  for (const [state, count] of seen.members) increase(totals.members, state, count);
  totals.shortestLeaseMs = shorter(totals.shortestLeaseMs, seen.shortestLeaseMs);
  totals.revokingShards += seen.revokingShards;
  totals.oldestDrainAgeMs = longer(totals.oldestDrainAgeMs, seen.oldestDrainAgeMs, sinceMs);
  totals.blockedShards += seen.blockedShards;
  totals.conflictedShards += seen.conflictedShards;
  totals.ungrantedShards += seen.ungrantedShards;
  if (seen.isUnprovisioned) totals.unprovisionedGroups += 1;
  if (seen.roundAgeMs !== null) totals.activeRounds += 1;
  totals.oldestRoundAgeMs = longer(totals.oldestRoundAgeMs, seen.roundAgeMs, sinceMs);
  totals.membersToTell += seen.membersToTell;
}

function increase<Name>(counts: Map<Name, number>, name: Name, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

function shorter(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

function longer(one: number | null, other: number | null, sinceMs: number): number | null {
  if (other === null) return one;
  return Math.max(one ?? 0, other + sinceMs);
}
