import type { MemberId, ShardIndex } from '../ids';
import { isLive } from '../membership/member';
import type { EpochMillis } from '../time';
import type { GroupMetadata } from './group-metadata';

/** A member's part of the group (docs/protocol.md, Who holds a shard). Each list ascending. */
export interface MemberShards {
  /** Target and held: it may read. */
  readonly assigned: readonly ShardIndex[];
  /** Target, not held yet: another one still has it. */
  readonly pending: readonly ShardIndex[];
  /** Held, no longer its target: it must drain. */
  readonly revoking: readonly ShardIndex[];
}

export type GroupStateName = 'EMPTY' | 'ASSIGNING' | 'RECONCILING' | 'STABLE';

/**
 * What is computed once per list of shards, because every heartbeat asks for it. A change of a member alone leaves the list
 * the same object, and costs nothing here.
 */
interface Derived {
  readonly shardsByMember: ReadonlyMap<MemberId, MemberShards>;
  /** Earliest end of a drain or a block; null when there is none. */
  readonly nextShardDeadlineMs: EpochMillis | null;
  readonly hasUngrantedShard: boolean;
  readonly hasOpenDrain: boolean;
}

const NO_SHARDS: MemberShards = { assigned: [], pending: [], revoking: [] };
const derivedOf = new WeakMap<GroupMetadata['shards'], Derived>();

export function memberShards(metadata: GroupMetadata, memberId: MemberId): MemberShards {
  return derive(metadata).shardsByMember.get(memberId) ?? NO_SHARDS;
}

/** The earliest instant at which a drain or a block of the group ends; null when there is none. */
export function nextShardDeadline(metadata: GroupMetadata): EpochMillis | null {
  return derive(metadata).nextShardDeadlineMs;
}

/** Whether a shard is free although somebody should read it (grants were held back). */
export function hasUngrantedShard(metadata: GroupMetadata): boolean {
  return derive(metadata).hasUngrantedShard;
}

/** Whether a shard is being drained or blocked. */
export function hasOpenDrain(metadata: GroupMetadata): boolean {
  return derive(metadata).hasOpenDrain;
}

/** EMPTY no live member; ASSIGNING a target shard is free and not granted; RECONCILING a drain or a block is open; else STABLE. */
export function groupState(metadata: GroupMetadata): GroupStateName {
  if (![...metadata.members.values()].some(isLive)) return 'EMPTY';
  const derived = derive(metadata);
  if (derived.hasUngrantedShard) return 'ASSIGNING';
  return derived.hasOpenDrain ? 'RECONCILING' : 'STABLE';
}

function derive({ shards }: GroupMetadata): Derived {
  const known = derivedOf.get(shards);
  if (known !== undefined) return known;
  const derived = compute(shards);
  derivedOf.set(shards, derived);
  return derived;
}

function compute(shards: GroupMetadata['shards']): Derived {
  const byMember = new Map<
    MemberId,
    { assigned: ShardIndex[]; pending: ShardIndex[]; revoking: ShardIndex[] }
  >();
  const shardsOf = (memberId: MemberId) => {
    const known = byMember.get(memberId);
    if (known !== undefined) return known;
    const fresh = { assigned: [], pending: [], revoking: [] };
    byMember.set(memberId, fresh);
    return fresh;
  };
  let nextDeadlineMs = Number.POSITIVE_INFINITY;
  let hasUngrantedShard = false;
  let hasOpenDrain = false;
  shards.forEach(({ target, occupancy }, position) => {
    const index = position as ShardIndex;
    const holder = occupancy.kind === 'HELD' ? occupancy.memberId : null;
    if (target !== null)
      (target === holder ? shardsOf(target).assigned : shardsOf(target).pending).push(index);
    if (holder !== null && holder !== target) shardsOf(holder).revoking.push(index);
    if (occupancy.kind === 'FREE' && target !== null) hasUngrantedShard = true;
    if (occupancy.kind === 'BLOCKED') nextDeadlineMs = Math.min(nextDeadlineMs, occupancy.untilMs);
    if (occupancy.kind === 'HELD' && occupancy.drain !== null)
      nextDeadlineMs = Math.min(nextDeadlineMs, occupancy.drain.deadlineMs);
    if (occupancy.kind === 'BLOCKED' || (occupancy.kind === 'HELD' && occupancy.drain !== null))
      hasOpenDrain = true;
  });
  return {
    shardsByMember: byMember,
    nextShardDeadlineMs: Number.isFinite(nextDeadlineMs) ? (nextDeadlineMs as EpochMillis) : null,
    hasUngrantedShard,
    hasOpenDrain,
  };
}
