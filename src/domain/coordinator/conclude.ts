import { retarget, settleAssignment } from '../assignment/current-assignment';
import { endRoundIfDone, fenceSilentMembers } from '../correction/end-round';
import { hasUngrantedShard } from '../group/derived-state';
import type { Transition } from './transition';

/**
 * The end of each decision: a correction round may end, the target follows its cause in the same write, then drains and grants
 * follow the target.
 */
export function conclude(transition: Transition): void {
  const { draft } = transition;
  fenceSilentMembers(transition);
  endRoundIfDone(transition);
  if (draft.hasMovedMembers) retarget(transition);
  if (draft.hasMovedShards || (transition.mayGrant && hasUngrantedShard(draft.base)))
    settleAssignment(transition);
}
