import { isDrainedFromBefore } from '../correction/outlook';
import type { RoundOutlook } from '../correction/outlook';
import type { MemberId, ShardIndex } from '../ids';
import type { CoordinationTiming, EpochMillis } from '../time';
import type { CorrectionRound, GroupMetadata, Leases, Occupancy, Shard } from './group-metadata';

/**
 * Why a shard is not simply being read by its target:
 * WAITING_FOR_REVOKE  its holder was asked to let it go and has not yet
 * WAITING_FOR_LEASE   a tenure that ended, or one that Redis may have forgotten, can read inside its lease
 * QUIET_PERIOD        its holder's time is over, or it is free, but this coordinator may not end tenures or grant now
 * CONFLICT            a member reads it by a grant that Redis lost
 * PROVISIONING        the streams of the group do not all exist yet
 * NO_ELIGIBLE_MEMBER  nobody could be given it
 * STALLED             its owner heartbeats, work waits, and nothing moves
 * DRAIN_ONLY          it is read, but nothing is routed to it any more
 */
export const WAIT_REASONS = [
  'WAITING_FOR_REVOKE',
  'WAITING_FOR_LEASE',
  'QUIET_PERIOD',
  'CONFLICT',
  'PROVISIONING',
  'NO_ELIGIBLE_MEMBER',
  'STALLED',
  'DRAIN_ONLY',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Why, since when, until when at the latest, and on whom it depends. null: not known. */
export interface Wait {
  readonly reason: WaitReason;
  readonly sinceMs: EpochMillis | null;
  readonly untilMs: EpochMillis | null;
  readonly by: readonly MemberId[];
}

/** How the entries of a shard move, as Redis and the owner's report tell it. */
export interface ShardFlow {
  /** Entries that were never delivered; null: Redis cannot tell. For display. */
  readonly lag: number | null;
  /** Delivered and not acked. */
  readonly pendingCount: number;
  /** When an entry was last delivered or acked; null: never, or not known. */
  readonly lastMoveMs: EpochMillis | null;
  /** When the oldest entry that was never delivered came in; null: there is none, or it was not looked at. */
  readonly oldestWaitingMs: EpochMillis | null;
}

/** What decides here besides the group. */
export interface WaitContext {
  readonly nowMs: EpochMillis;
  readonly timing: Pick<CoordinationTiming, 'memberLeaseTtlMs' | 'rebalanceTimeoutMs'>;
  /** Of this coordinator and this group, correction round left aside. */
  readonly mayEndTenures: boolean;
  readonly mayGrant: boolean;
  /** The quiet period that says so; null: none, or this coordinator has to pass first. */
  readonly quiet: { readonly sinceMs: EpochMillis; readonly untilMs: EpochMillis } | null;
  /** When each member was last heard. */
  readonly heardAtMs: ReadonlyMap<MemberId, EpochMillis>;
  /** Of the shards that were looked at. */
  readonly flows: ReadonlyMap<ShardIndex, ShardFlow>;
}

/** Work that waits for longer than a member has to finish what it runs, while nothing moves, is a stall. Milliseconds. */
export function stallAfterMs({ rebalanceTimeoutMs }: Pick<CoordinationTiming, 'rebalanceTimeoutMs'>): number {
  return rebalanceTimeoutMs;
}

export interface WaitFacts {
  readonly metadata: GroupMetadata;
  readonly leases: Leases;
  readonly outlook: RoundOutlook | null;
  readonly context: WaitContext;
}

/** null: its target reads it, or is given it by the next look at the group. */
export function waitOf(facts: WaitFacts, index: ShardIndex, shard: Shard): Wait | null {
  if (shard.conflicts.length > 0) return conflictWait(facts, shard);
  switch (shard.occupancy.kind) {
    case 'FREE':
      return freeWait(facts, shard);
    case 'BLOCKED':
      return blockedWait(facts, shard.occupancy);
    case 'HELD':
      return heldWait(facts, shard.occupancy) ?? readWait(facts, index, shard);
  }
}

function conflictWait({ outlook }: WaitFacts, { conflicts }: Shard): Wait {
  const ends = conflicts.map(({ untilMs }) => untilMs ?? outlook?.boundMs ?? null);
  const isKnown = ends.every((end) => end !== null);
  return {
    reason: 'CONFLICT',
    sinceMs: outlook?.round.startedAtMs ?? null,
    untilMs: isKnown ? (Math.max(...ends) as EpochMillis) : null,
    by: conflicts.map(({ memberId }) => memberId),
  };
}

function freeWait(facts: WaitFacts, { target }: Shard): Wait | null {
  const { metadata, context, outlook } = facts;
  if (metadata.provisioning === 'PENDING')
    return { reason: 'PROVISIONING', sinceMs: metadata.createdAtMs, untilMs: null, by: [] };
  if (target === null) return { reason: 'NO_ELIGIBLE_MEMBER', sinceMs: null, untilMs: null, by: [] };
  if (outlook !== null) return roundWait(facts, outlook);
  if (!context.mayGrant) return quietWait(facts, []);
  if (metadata.grantsFromMs > context.nowMs)
    // Members of a former life of the group.
    return {
      reason: 'WAITING_FOR_LEASE',
      sinceMs: metadata.createdAtMs,
      untilMs: metadata.grantsFromMs,
      by: [],
    };
  return null;
}

/** Nothing is granted in a round: it waits for leases of whom it cannot ask, then for whom keeps it open. */
function roundWait({ metadata, context }: WaitFacts, outlook: RoundOutlook): Wait {
  const { round, earliestEndMs, boundMs, pendingMembers } = outlook;
  const isSilenceOver = earliestEndMs <= context.nowMs;
  const by = isSilenceOver ? new Set([...pendingMembers, ...keepersOf(metadata, round)]) : pendingMembers;
  return {
    reason: 'WAITING_FOR_LEASE',
    sinceMs: round.startedAtMs,
    untilMs: isSilenceOver ? boundMs : earliestEndMs,
    by: [...by],
  };
}

/** Whose conflicts, or drains from before the round, keep it open. */
function keepersOf({ shards }: GroupMetadata, round: CorrectionRound): MemberId[] {
  return shards.flatMap(({ occupancy, conflicts }) => {
    const keepers = conflicts.map(({ memberId }) => memberId);
    return occupancy.kind === 'HELD' && isDrainedFromBefore(occupancy, round)
      ? [...keepers, occupancy.memberId]
      : keepers;
  });
}

function blockedWait(facts: WaitFacts, occupancy: Extract<Occupancy, { kind: 'BLOCKED' }>): Wait {
  const { memberId, memberEpoch, untilMs } = occupancy;
  if (untilMs <= facts.context.nowMs && !mayEndTenures(facts)) return quietWait(facts, [memberId]);
  const member = facts.metadata.members.get(memberId);
  // The state of a newer tenure tells when the former one ended only as long as it has just joined.
  const isOwnEnd = member?.memberEpoch === memberEpoch || member?.state === 'STARTING';
  const sinceMs = member !== undefined && isOwnEnd ? member.stateChangedAtMs : null;
  return { reason: 'WAITING_FOR_LEASE', sinceMs, untilMs, by: [memberId] };
}

function heldWait(facts: WaitFacts, occupancy: Extract<Occupancy, { kind: 'HELD' }>): Wait | null {
  const { context, leases } = facts;
  const { memberId, drain } = occupancy;
  const isLeaseOver = (leases.get(memberId) ?? Number.POSITIVE_INFINITY) <= context.nowMs;
  const isDrainOver = drain !== null && drain.deadlineMs <= context.nowMs;
  if ((isLeaseOver || isDrainOver) && !mayEndTenures(facts)) return quietWait(facts, [memberId]);
  if (drain === null) return null;
  const sinceMs = (drain.deadlineMs - context.timing.rebalanceTimeoutMs) as EpochMillis;
  return { reason: 'WAITING_FOR_REVOKE', sinceMs, untilMs: drain.deadlineMs, by: [memberId] };
}

/** Of a shard that its target holds. */
function readWait(facts: WaitFacts, index: ShardIndex, shard: Shard): Wait | null {
  const { metadata } = facts;
  const holder = shard.target;
  const stalledSinceMs = holder === null ? null : stallOf(facts.context, index, shard, holder);
  if (stalledSinceMs !== null && holder !== null)
    return { reason: 'STALLED', sinceMs: stalledSinceMs, untilMs: null, by: [holder] };
  return index < metadata.shardCount ? null : { reason: 'DRAIN_ONLY', sinceMs: null, untilMs: null, by: [] };
}

function stallOf(
  { nowMs, timing, heardAtMs, flows }: WaitContext,
  index: ShardIndex,
  { lastToken }: Shard,
  holder: MemberId,
): EpochMillis | null {
  const flow = flows.get(index);
  const heardMs = heardAtMs.get(holder);
  if (flow === undefined || heardMs === undefined || nowMs - heardMs >= timing.memberLeaseTtlMs) return null;
  const workSinceMs = flow.pendingCount > 0 ? 0 : flow.oldestWaitingMs;
  if (workSinceMs === null) return null;
  // Tokens are drawn from the clock: before that, another owner was responsible.
  const standsSinceMs = Math.max(flow.lastMoveMs ?? 0, workSinceMs, lastToken);
  return nowMs - standsSinceMs >= stallAfterMs(timing) ? (standsSinceMs as EpochMillis) : null;
}

/** A round begins with a quiet period of one lease. */
function mayEndTenures({ context, outlook }: WaitFacts): boolean {
  if (!context.mayEndTenures) return false;
  return outlook === null || outlook.round.startedAtMs + context.timing.memberLeaseTtlMs <= context.nowMs;
}

function quietWait({ context, outlook }: WaitFacts, by: readonly MemberId[]): Wait {
  const { quiet, timing } = context;
  const isBlind = !context.mayEndTenures && quiet === null;
  const ofRoundMs = outlook === null ? 0 : outlook.round.startedAtMs + timing.memberLeaseTtlMs;
  const untilMs = isBlind ? null : (Math.max(quiet?.untilMs ?? 0, ofRoundMs) as EpochMillis);
  const sinceMs = quiet?.sinceMs ?? (isBlind ? null : (outlook?.round.startedAtMs ?? null));
  return { reason: 'QUIET_PERIOD', sinceMs, untilMs, by };
}
