import type { Transition } from '../coordinator/transition';
import type { CorrectionRound } from '../group/group-metadata';
import { isLive } from '../membership/member';
import { fenceMember } from '../membership/tenure';
import { isOver } from '../time';
import { isInConflict } from './conflicts';
import { boundMs, earliestEndMs, isDrainedFromBefore, membersToTell } from './outlook';

/** Excludes who keeps a round open for too long: who has not told, or goes on with a shard that is not its own. */
export function fenceSilentMembers(transition: Transition): void {
  const { draft, context } = transition;
  const round = draft.correction;
  if (round === null || !transition.mayEndTenures) return;
  if (!isOver(boundMs(round, context.timing), context.nowMs)) return;
  for (const member of [...draft.currentMembers().values()]) {
    if (!isLive(member)) continue;
    if (!round.synced.has(member.memberId) || isInConflict(transition, member))
      fenceMember(transition, member);
  }
}

/**
 * Ends the round once it is known who reads: every live member has told, no drain from before the round and no conflict is
 * open, and whoever could not be asked (admitted by a lost write, or excluded without having told) has outlived its lease.
 */
export function endRoundIfDone(transition: Transition): void {
  const { draft, context } = transition;
  const round = draft.correction;
  if (round === null || !transition.mayEndTenures) return;
  if (!isOver(earliestEndMs(round, context.timing), context.nowMs)) return;
  if (membersToTell(draft.currentMembers(), round).length > 0 || hasOpenShard(transition, round)) return;
  draft.endRound();
  const { cause, roundVersion, startedAtMs } = round;
  const detail = `round ${roundVersion} has ended`;
  const ageMs = context.nowMs - startedAtMs;
  transition.request({ kind: 'CORRECTION', event: 'ENDED', cause, ageMs, detail });
}

function hasOpenShard({ draft }: Transition, round: CorrectionRound): boolean {
  return draft
    .currentShards()
    .some(({ occupancy, conflicts }) => conflicts.length > 0 || isDrainedFromBefore(occupancy, round));
}
