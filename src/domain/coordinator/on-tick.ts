import { nextDueMs } from '../group/due-time';
import { sweepDeadlines } from '../membership/sweep';
import type { EpochMillis } from '../time';
import { conclude } from './conclude';
import type { DecisionContext, GroupCommand, GroupState } from './decision';
import { unchanged } from './transition';
import { openTransition } from './open-transition';

export type TickReply =
  /** A phantom entry of the index. */
  { readonly kind: 'MISSING' } | { readonly kind: 'LOOKED'; readonly nextDueMs: EpochMillis };

/** The event loop's look at a group: deadlines, held back grants, and provisioning that a crash left unfinished. */
export function onTick(): GroupCommand<TickReply> {
  return {
    name: 'tick',
    decide: (state, context) => {
      if (state.metadata === null) return unchanged(state, () => ({ kind: 'MISSING' }));
      const transition = openTransition(state.metadata, state.leases, context);
      sweepDeadlines(transition);
      conclude(transition);
      if (!transition.draft.isProvisioned()) transition.request({ kind: 'PROVISION' });
      return transition.decide((committed) => tickReply(committed, context));
    },
  };
}

function tickReply({ metadata, leases }: GroupState, { timing, nowMs }: DecisionContext): TickReply {
  return metadata === null
    ? { kind: 'MISSING' }
    : { kind: 'LOOKED', nextDueMs: nextDueMs(metadata, leases, timing, nowMs) };
}
