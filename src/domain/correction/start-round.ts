import type { Transition } from '../coordinator/transition';
import type { RoundCause } from '../group/group-metadata';
import type { ShardIndex } from '../ids';

export interface Evidence {
  readonly cause: RoundCause;
  /** The version that betrays the loss; null for other causes. */
  readonly observedVersion: number | null;
  /** It was shown by a client that is no member. */
  readonly isStranger?: boolean;
}

/**
 * Starts a correction round, in place of one that is under way. Its version is drawn from the clock, so it is above all that
 * was lost. Every open drain is recorded anew at it, with the deadline that it has: a late REVOKED of the lost timeline would
 * pass for one of this drain otherwise. Held shards get new tokens, above those that lost grants gave out.
 */
export function startRound(transition: Transition, evidence: Evidence): void {
  const { draft, context } = transition;
  const { cause, observedVersion } = evidence;
  const former = draft.correction;
  draft.startRound(
    {
      cause,
      observedVersion,
      roundVersion: draft.version,
      startedAtMs: context.nowMs,
      silentUntilMs: former?.silentUntilMs ?? context.nowMs,
      synced: new Set(),
    },
    {
      lastRoundVersion: draft.version,
      lastObservedVersion: largestObserved(draft.roundHistory.lastObservedVersion, observedVersion),
      strangerAtMs: evidence.isStranger === true ? context.nowMs : draft.roundHistory.strangerAtMs,
    },
    context.redisId,
  );
  draft.currentShards().forEach(({ occupancy }, position) => {
    if (occupancy.kind !== 'HELD') return;
    const index = position as ShardIndex;
    draft.renewToken(index);
    const { drain } = occupancy;
    if (drain === null) return;
    draft.occupy(index, { ...occupancy, drain: { ...drain, recordedVersion: draft.version } });
  });
  const shown = observedVersion === null ? '' : `, version ${observedVersion} was shown`;
  const detail = `${cause}: ${draft.base.metadataVersion} is recorded${shown}; round ${draft.version} begins`;
  transition.request({ kind: 'CORRECTION', event: 'STARTED', cause, ageMs: 0, detail });
}

function largestObserved(known: number | null, observed: number | null): number | null {
  return observed === null || (known !== null && known > observed) ? known : observed;
}
