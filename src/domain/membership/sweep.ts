import type { Transition } from '../coordinator/transition';
import { endConflictsOver, hasConflict } from '../correction/conflicts';
import { FREE } from '../group/group-metadata';
import type { ShardIndex } from '../ids';
import { isOver } from '../time';
import { nextShardDeadline } from '../group/derived-state';
import { expireMember, fenceMember } from './tenure';
import { isLive } from './member';
import type { Member } from './member';

/**
 * Does what time alone brings about: leases that ran out, drains past their deadline, blocks that ended, dead members kept long
 * enough. Any request sees it, and the event loop. In a quiet period no deadline proves anything, so nothing is done.
 */
export function sweepDeadlines(transition: Transition): void {
  if (!transition.mayEndTenures) return;
  expireLeases(transition);
  if (hasShardDeadlineOver(transition)) {
    fenceEndlessDrains(transition);
    endBlocks(transition);
  }
  endConflictsOver(transition);
  forgetDeadMembers(transition);
}

// These two look at every member in every heartbeat: `forEach`, because iterators of a Map allocate for each entry.
function expireLeases(transition: Transition): void {
  const { draft, context } = transition;
  transition.leases.forEach((leaseEndMs, memberId) => {
    if (!isOver(leaseEndMs, context.nowMs)) return;
    const member = draft.base.members.get(memberId);
    if (member !== undefined && isLive(member)) expireMember(transition, member);
  });
}

function hasShardDeadlineOver({ draft, context }: Transition): boolean {
  const deadlineMs = nextShardDeadline(draft.base);
  return deadlineMs !== null && isOver(deadlineMs, context.nowMs);
}

function fenceEndlessDrains(transition: Transition): void {
  const { draft, context } = transition;
  for (const { occupancy } of draft.base.shards) {
    if (
      occupancy.kind !== 'HELD' ||
      occupancy.drain === null ||
      !isOver(occupancy.drain.deadlineMs, context.nowMs)
    )
      continue;
    const member = draft.currentMembers().get(occupancy.memberId);
    if (member !== undefined && isLive(member)) fenceMember(transition, member);
  }
}

function endBlocks({ draft, context }: Transition): void {
  draft.currentShards().forEach(({ occupancy }, position) => {
    if (occupancy.kind === 'BLOCKED' && isOver(occupancy.untilMs, context.nowMs))
      draft.occupy(position as ShardIndex, FREE);
  });
}

function forgetDeadMembers(transition: Transition): void {
  const { draft, context } = transition;
  draft.base.members.forEach((member) => {
    if (isLive(member) || context.nowMs - member.stateChangedAtMs < context.timing.memberRetentionMs) return;
    if (!blocksAShard(transition, member)) forget(transition, member);
  });
}

/** Whether the exclusion of this member still keeps a shard from others. */
export function blocksAShard(transition: Transition, member: Member): boolean {
  if (hasConflict(transition, member)) return true;
  return transition.draft
    .currentShards()
    .some(({ occupancy }) => occupancy.kind === 'BLOCKED' && occupancy.memberId === member.memberId);
}

export function forget(transition: Transition, { memberId }: Member): void {
  transition.draft.forgetMember(memberId);
  transition.report(memberId, null);
}
