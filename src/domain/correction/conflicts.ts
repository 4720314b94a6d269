import type { Transition } from '../coordinator/transition';
import type { Conflict } from '../group/group-metadata';
import { NO_CONFLICTS } from '../group/group-metadata';
import type { ShardIndex } from '../ids';
import type { Member } from '../membership/member';
import type { EpochMillis } from '../time';

type Tenure = Pick<Member, 'memberId' | 'memberEpoch'>;

/** A tenure is over by its lease, or has stopped: it reads nothing any more. */
export function dropConflicts(transition: Transition, member: Tenure): void {
  eachConflicted(transition, (_index, conflicts) => conflicts.filter((conflict) => !isOf(conflict, member)));
}

/** A tenure was excluded, and may read on inside its lease: its conflicts stay until that ends. */
export function keepConflictsUntil(transition: Transition, member: Tenure, untilMs: EpochMillis): void {
  eachConflicted(transition, (_index, conflicts) =>
    conflicts.map((conflict) => (isOf(conflict, member) ? { ...conflict, untilMs } : conflict)),
  );
}

/** Conflicts of excluded tenures end with their leases. */
export function endConflictsOver(transition: Transition): void {
  const { nowMs } = transition.context;
  eachConflicted(transition, (_index, conflicts) =>
    conflicts.filter(({ untilMs }) => untilMs === null || untilMs > nowMs),
  );
}

/** Whether a conflict of this member, of whichever tenure, is open. */
export function hasConflict({ draft }: Transition, { memberId }: Pick<Member, 'memberId'>): boolean {
  if (draft.correction === null) return false;
  return draft.currentShards().some(({ conflicts }) => conflicts.some((one) => one.memberId === memberId));
}

/** Whether the running tenure of this member goes on with a shard that is not its own. */
export function isInConflict({ draft }: Transition, tenure: Tenure): boolean {
  if (draft.correction === null) return false;
  return draft.currentShards().some(({ conflicts }) => conflicts.some((one) => isOf(one, tenure)));
}

/** Replaces the conflicts of each shard that has some. Outside of a round there are none, and nothing is looked at. */
export function eachConflicted(
  { draft }: Transition,
  change: (index: ShardIndex, conflicts: readonly Conflict[]) => readonly Conflict[],
): void {
  if (draft.correction === null) return;
  draft.currentShards().forEach(({ conflicts }, position) => {
    if (conflicts.length === 0) return;
    const index = position as ShardIndex;
    const next = change(index, conflicts);
    const isSame = next.length === conflicts.length && next.every((conflict, i) => conflict === conflicts[i]);
    if (!isSame) draft.putConflicts(index, next.length === 0 ? NO_CONFLICTS : next);
  });
}

export function isOf(conflict: Conflict, { memberId, memberEpoch }: Tenure): boolean {
  return conflict.memberId === memberId && conflict.memberEpoch === memberEpoch;
}
