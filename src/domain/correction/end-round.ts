import type { Transition } from '../coordinator/transition';
import type { CorrectionRound } from '../group/group-metadata';
import { isLive } from '../membership/member';
import { fenceMember } from '../membership/tenure';
import { deadlineAfter, durationMs, isOver } from '../time';
import { isInConflict } from './conflicts';

/** Members that should have told by now are fenced after this many leases and one rebalance timeout. */
export const PATIENCE_LEASES = 2;

/** Excludes who keeps a round open for too long: who has not told, or goes on with a shard that is not its own. */
export function fenceSilentMembers(transition: Transition): void {
  const { draft, context } = transition;
  const round = draft.correction;
  if (round === null || !transition.mayEndTenures) return;
  const { memberLeaseTtlMs, rebalanceTimeoutMs } = context.timing;
  const patienceMs = durationMs(PATIENCE_LEASES * memberLeaseTtlMs + rebalanceTimeoutMs);
  if (!isOver(deadlineAfter(round.startedAtMs, patienceMs), context.nowMs)) return;
  for (const member of [...draft.currentMembers().values()]) {
    if (!isLive(member)) continue;
    if (!round.synced.has(member.memberId) || isInConflict(transition, member))
      fenceMember(transition, member);
  }
}

/**
 * Ends the round once it is known who reads: every live member has told, no drain from before the round and no conflict is
 * open, and whoever could not be asked (admitted by a lost write, or excluded in the round) has outlived its lease.
 */
export function endRoundIfDone(transition: Transition): void {
  const { draft, context } = transition;
  const round = draft.correction;
  if (round === null || !transition.mayEndTenures) return;
  if (!isOver(round.silentUntilMs, context.nowMs)) return;
  if (!haveAllTold(transition, round) || hasOpenShard(transition, round)) return;
  draft.endRound();
  const { cause, roundVersion, startedAtMs } = round;
  const detail = `round ${roundVersion} has ended`;
  const ageMs = context.nowMs - startedAtMs;
  transition.request({ kind: 'CORRECTION', event: 'ENDED', cause, ageMs, detail });
}

function haveAllTold({ draft }: Transition, { synced }: CorrectionRound): boolean {
  for (const member of draft.currentMembers().values()) {
    if (isLive(member) && !synced.has(member.memberId)) return false;
  }
  return true;
}

function hasOpenShard({ draft }: Transition, { roundVersion }: CorrectionRound): boolean {
  return draft
    .currentShards()
    .some(
      ({ occupancy, conflicts }) =>
        conflicts.length > 0 ||
        (occupancy.kind === 'HELD' &&
          occupancy.drain !== null &&
          occupancy.drain.recordedVersion <= roundVersion),
    );
}
