import { observeVersions } from '../correction/evidence';
import type { GroupMetadata } from '../group/group-metadata';
import { sweepDeadlines } from '../membership/sweep';
import { isLostVersion } from '../correction/evidence';
import { conclude } from './conclude';
import type { GroupCommand } from './decision';
import { openTransition } from './open-transition';
import { unchanged } from './transition';

/** What a publisher has seen: the versions of its routing, as it sends them with each refresh. */
export interface RoutingObservation {
  readonly metadataVersion: number;
  readonly maxObservedVersion: number | null;
}

/** Whether a routing read shows that Redis lost writes: then it has to enter a section, which decides. */
export function betraysLoss(
  metadata: GroupMetadata,
  redisId: string,
  { metadataVersion, maxObservedVersion }: RoutingObservation,
): boolean {
  return (
    metadata.redisId !== redisId ||
    isLostVersion(metadata, metadataVersion) ||
    isLostVersion(metadata, maxObservedVersion ?? 0)
  );
}

/**
 * A routing read whose numbers betray a loss: it starts a correction round if its evidence counts, like a heartbeat of a client
 * that is no member. Answers with the group as it is then; null: there is none.
 */
export function onRoutingRead(observed: RoutingObservation): GroupCommand<GroupMetadata | null> {
  return {
    name: 'routing-read',
    decide: (state, context) => {
      if (state.metadata === null) return unchanged(state, () => null);
      const transition = openTransition(state.metadata, state.leases, context);
      observeVersions(transition, { memberId: null, memberEpoch: 0, ...observed });
      sweepDeadlines(transition);
      conclude(transition);
      return transition.decide((committed) => committed.metadata);
    },
  };
}
