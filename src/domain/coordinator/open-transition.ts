import { observeStore } from '../correction/evidence';
import type { GroupMetadata, Leases } from '../group/group-metadata';
import type { DecisionContext } from './decision';
import { Transition } from './transition';

/** How every decision on a group begins: what the store betrays comes before any deadline is believed. */
export function openTransition(
  metadata: GroupMetadata,
  leases: Leases,
  context: DecisionContext,
): Transition {
  const transition = new Transition(metadata, leases, context);
  observeStore(transition);
  return transition;
}
