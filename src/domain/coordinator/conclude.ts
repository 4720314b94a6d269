import { retarget, settleAssignment } from '../assignment/current-assignment';
import { hasUngrantedShard } from '../group/derived-state';
import type { Transition } from './transition';

/** The end of each decision: the target follows its cause in the same write, then drains and grants follow the target. */
export function conclude(transition: Transition): void {
  const { draft, context } = transition;
  if (draft.hasMovedMembers) retarget(transition);
  if (draft.hasMovedShards || (context.mayGrant && hasUngrantedShard(draft.base)))
    settleAssignment(transition);
}
