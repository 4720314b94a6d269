import type { GroupState } from '../domain/coordinator/decision';
import { type GroupStateName, groupState } from '../domain/group/derived-state';
import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import { membersToTell } from '../domain/correction/outlook';
import { isLive, type MemberState } from '../domain/membership/member';
import type { CoordinationTiming, EpochMillis } from '../domain/time';

/** Of one group, as the event loop saw it at one moment; ages and remainders are of that moment, milliseconds. */
export interface GroupLook {
  readonly state: GroupStateName;
  readonly members: ReadonlyMap<MemberState, number>;
  /** Of each live member: since its last heartbeat. */
  readonly heartbeatAgesMs: readonly number[];
  readonly shortestLeaseMs: number | null;
  readonly revokingShards: number;
  readonly oldestDrainAgeMs: number | null;
  readonly blockedShards: number;
  readonly conflictedShards: number;
  readonly ungrantedShards: number;
  readonly isUnprovisioned: boolean;
  /** null: no correction round is under way. */
  readonly roundAgeMs: number | null;
  readonly membersToTell: number;
}

export interface LookTime {
  readonly nowMs: EpochMillis;
  readonly timing: Pick<CoordinationTiming, 'memberLeaseTtlMs' | 'rebalanceTimeoutMs'>;
}

export function lookAtGroup(
  metadata: GroupMetadata,
  leases: GroupState['leases'],
  time: LookTime,
): GroupLook {
  const { correction } = metadata;
  const members = new Map<MemberState, number>();
  for (const { state } of metadata.members.values()) members.set(state, (members.get(state) ?? 0) + 1);
  const remainingMs = remainingLeases(metadata, leases, time);
  return {
    state: groupState(metadata),
    members,
    heartbeatAgesMs: remainingMs.map((leftMs) => Math.max(0, time.timing.memberLeaseTtlMs - leftMs)),
    shortestLeaseMs: least(remainingMs),
    ...lookAtShards(metadata, time),
    isUnprovisioned: metadata.provisioning === 'PENDING',
    roundAgeMs: correction === null ? null : Math.max(0, time.nowMs - correction.startedAtMs),
    membersToTell: correction === null ? 0 : membersToTell(metadata.members, correction).length,
  };
}

/** A lease is counted from the heartbeat that renewed it: its remainder tells how long ago that was. */
function remainingLeases({ members }: GroupMetadata, leases: Leases, { nowMs }: LookTime): readonly number[] {
  const remaining: number[] = [];
  for (const member of members.values()) {
    const endMs = leases.get(member.memberId);
    if (isLive(member) && endMs !== undefined) remaining.push(Math.max(0, endMs - nowMs));
  }
  return remaining;
}

type ShardsLook = Pick<
  GroupLook,
  'revokingShards' | 'oldestDrainAgeMs' | 'blockedShards' | 'conflictedShards' | 'ungrantedShards'
>;

function lookAtShards({ shards }: GroupMetadata, { nowMs, timing }: LookTime): ShardsLook {
  const drainAgesMs: number[] = [];
  let [blockedShards, conflictedShards, ungrantedShards] = [0, 0, 0];
  for (const { target, occupancy, conflicts } of shards) {
    if (conflicts.length > 0) conflictedShards += 1;
    if (occupancy.kind === 'BLOCKED') blockedShards += 1;
    if (occupancy.kind === 'FREE' && target !== null) ungrantedShards += 1;
    if (occupancy.kind === 'HELD' && occupancy.drain !== null)
      drainAgesMs.push(Math.max(0, nowMs - (occupancy.drain.deadlineMs - timing.rebalanceTimeoutMs)));
  }
  const oldestDrainAgeMs = most(drainAgesMs);
  return {
    revokingShards: drainAgesMs.length,
    oldestDrainAgeMs,
    blockedShards,
    conflictedShards,
    ungrantedShards,
  };
}

// Not by spreading into Math.min: a group has thousands of members or shards at most, but so has a call stack.
function least(values: readonly number[]): number | null {
  return values.reduce<number | null>(
    (found, value) => (found === null || value < found ? value : found),
    null,
  );
}

function most(values: readonly number[]): number | null {
  return values.reduce<number | null>(
    (found, value) => (found === null || value > found ? value : found),
    null,
  );
}
