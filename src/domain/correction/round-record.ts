import type { Transition } from '../coordinator/transition';
import type { Member } from '../membership/member';
import type { EpochMillis } from '../time';

/** Whoever is excluded in a round may be reading what it never told: the round outlasts its lease. */
export function outlast(transition: Transition, untilMs: EpochMillis): void {
  const round = transition.draft.correction;
  if (round !== null && untilMs > round.silentUntilMs)
    transition.draft.putRound({ ...round, silentUntilMs: untilMs });
}

/** A new tenure in a round has been given nothing: there is nothing that it could tell. */
export function joinInRound(transition: Transition, { memberId }: Member): void {
  const round = transition.draft.correction;
  if (round !== null) transition.draft.putRound({ ...round, synced: new Set(round.synced).add(memberId) });
}
