import type { Transition } from '../coordinator/transition';
import type { Member } from '../membership/member';
import type { EpochMillis } from '../time';

/**
 * Whoever is excluded in a round without having told may be reading what nobody knows of: the round outlasts its lease. What
 * one that has told may be reading is recorded, and kept from others until then.
 */
export function outlast(transition: Transition, { memberId }: Member, untilMs: EpochMillis): void {
  const round = transition.draft.correction;
  if (round === null || round.synced.has(memberId) || untilMs <= round.silentUntilMs) return;
  transition.draft.putRound({ ...round, silentUntilMs: untilMs });
}

/** A new tenure in a round has been given nothing: there is nothing that it could tell. */
export function joinInRound(transition: Transition, { memberId }: Member): void {
  const round = transition.draft.correction;
  if (round !== null) transition.draft.putRound({ ...round, synced: new Set(round.synced).add(memberId) });
}
