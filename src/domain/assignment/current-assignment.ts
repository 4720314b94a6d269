import type { Transition } from '../coordinator/transition';
import type { Shard } from '../group/group-metadata';
import type { ShardIndex } from '../ids';
import { isEligible } from '../membership/member';
import { deadlineAfter, durationMs, isOver } from '../time';
import { assignTarget } from './target-assignment';

/**
 * Brings what is held towards the target, shard by shard. Per shard, from -> to:
 * HELD by its target, draining  -> HELD            a newer target gave it back before it was let go
 * HELD by another, not draining -> HELD, draining  recorded before the holder is told; an open drain keeps its deadline
 * FREE, with a target           -> HELD            granted in the write that makes it free, unless grants are held back or another may read it
 * BLOCKED                       -> BLOCKED         until its lease ends: nobody else may read it
 * Called at the end of each decision.
 */
export function settleAssignment(transition: Transition): void {
  const { draft } = transition;
  const mayGrant = grantsAllowed(transition);
  draft.currentShards().forEach((shard, position) => {
    settleShard(transition, position as ShardIndex, shard, mayGrant);
  });
}

/** Computes the target anew after members moved. If the assignor fails, what is left of the old target stays: leases must not suffer. */
export function retarget(transition: Transition, assign: typeof assignTarget = assignTarget): void {
  const { draft } = transition;
  const eligible = [...draft.currentMembers().values()].filter(isEligible).map((member) => member.memberId);
  const mayKeep = new Set(eligible);
  const preferred = draft.currentShards().map(({ target, occupancy }) => {
    if (target !== null && mayKeep.has(target)) return target;
    return occupancy.kind === 'HELD' && mayKeep.has(occupancy.memberId) ? occupancy.memberId : null;
  });
  try {
    draft.retarget(assign(preferred, eligible));
  } catch (error) {
    draft.retarget(preferred);
    transition.request({ kind: 'ALERT', alert: 'ASSIGNOR_FAILED', detail: String(error) });
  }
}

function grantsAllowed(transition: Transition): boolean {
  const { draft } = transition;
  return transition.mayGrant && draft.isProvisioned() && isFormerLifeOver(transition);
}

/** A former life's end is a deadline like others: in a quiet period it proves nothing. */
function isFormerLifeOver({ draft, context, mayEndTenures }: Transition): boolean {
  const { grantsFromMs, createdAtMs } = draft.base;
  return grantsFromMs <= createdAtMs || (mayEndTenures && isOver(grantsFromMs, context.nowMs));
}

function settleShard(
  { draft, context }: Transition,
  index: ShardIndex,
  { target, occupancy, conflicts }: Shard,
  mayGrant: boolean,
): void {
  switch (occupancy.kind) {
    case 'FREE':
      if (target !== null && mayGrant && conflicts.length === 0) draft.grant(index, target);
      return;
    case 'HELD':
      if (occupancy.memberId === target) {
        if (occupancy.drain !== null) draft.occupy(index, { ...occupancy, drain: null });
      } else if (occupancy.drain === null) {
        const deadlineMs = deadlineAfter(context.nowMs, durationMs(context.timing.rebalanceTimeoutMs));
        draft.occupy(index, { ...occupancy, drain: { recordedVersion: draft.version, deadlineMs } });
      }
      return;
    case 'BLOCKED':
      return;
  }
}
