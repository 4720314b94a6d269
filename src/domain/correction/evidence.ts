import type { RememberedWrite } from '../coordinator/decision';
import type { Transition } from '../coordinator/transition';
import type { GroupMetadata } from '../group/group-metadata';
import type { MemberId } from '../ids';
import { isLive } from '../membership/member';
import type { Member } from '../membership/member';
import { fenceMember } from '../membership/tenure';
import { deadlineAfter, durationMs, isOver } from '../time';
import type { EpochMillis } from '../time';
import { startRound } from './start-round';

/** A member's evidence starts at most one round in so many leases; more of it by then is a fault of the member. */
const MEMBER_PAUSE_LEASES = 4;
/** The same for clients that are no members, all together. */
const STRANGERS_PAUSE_LEASES = 1;

/** Versions are drawn from the clock: one that is so far ahead of it was never drawn. Milliseconds. */
const FAR_AHEAD_MS = 3_600_000;

/** Whether no timeline can have had this version. */
export function isInvented(version: number, drawMs: EpochMillis): boolean {
  return version > drawMs + FAR_AHEAD_MS;
}

/** Numbers of a client's view that may betray a loss: of a heartbeat or a routing read. */
export interface ObservedVersions {
  /** null: the client is no member. */
  readonly memberId: MemberId | null;
  readonly memberEpoch: number;
  readonly metadataVersion: number;
  readonly maxObservedVersion: number | null;
}

/**
 * What the store itself betrays, before anything else is decided: another Redis answers than took the last write (it may have
 * lost some, even if no number shows it), or this process remembers a later write than is recorded.
 */
export function observeStore(transition: Transition): void {
  const { draft, context } = transition;
  if (context.redisId !== draft.base.redisId)
    startRound(transition, { cause: 'REDIS_ID', observedVersion: null });
  else if (draft.correction === null && hasGoneBack(draft.base, context.remembered))
    startRound(transition, { cause: 'REVISION', observedVersion: null });
}

/** Whether what is recorded lacks a write of this life of the group that was confirmed before. */
export function hasGoneBack(recorded: RememberedWrite, remembered: RememberedWrite | null): boolean {
  return (
    remembered !== null && remembered.incarnation === recorded.incarnation && lacksWrite(recorded, remembered)
  );
}

/** Whether a history that ends in `last` does not have the `other` write, as far as the two tell. */
export function lacksWrite(last: RememberedWrite, other: RememberedWrite): boolean {
  if (other.storeRevision !== last.storeRevision) return other.storeRevision > last.storeRevision;
  return other.writeId !== last.writeId; // the number was used again by another history
}

/**
 * What a client betrays: a version that this history never had (docs/protocol.md, Metadata correction, evidence). It starts a
 * round, is answered by the one under way, or, of a member that has just been through one, ends its tenure.
 */
export function observeVersions(transition: Transition, observed: ObservedVersions): void {
  const { draft, context } = transition;
  const member = observed.memberId === null ? undefined : draft.currentMembers().get(observed.memberId);
  const shown = lostVersionOf(draft.base, observed, member);
  if (shown === null) return;
  const isTenure = member !== undefined && isLive(member) && member.memberEpoch === observed.memberEpoch;
  const round = draft.correction;
  if (isTenure && round !== null && !round.synced.has(member.memberId)) {
    draft.putMember({ ...member, lostVersion: shown });
    return; // it is told by SYNC_METADATA
  }
  const hasJustTold = member !== undefined && isWithin(transition, member.correctedAtMs, MEMBER_PAUSE_LEASES);
  if (isTenure && hasJustTold) {
    const detail = `member ${member.memberId} shows version ${shown} after it was synchronised`;
    transition.request({ kind: 'ALERT', alert: 'UNKNOWN_VERSION_AGAIN', detail });
    fenceMember(transition, member);
    return;
  }
  if (round !== null || hasJustTold) return;
  if (member !== undefined) {
    draft.putMember({ ...member, correctedAtMs: context.nowMs, lostVersion: shown });
    startRound(transition, { cause: 'UNKNOWN_VERSION', observedVersion: shown });
  } else if (isInvented(shown, context.drawMs)) {
    const detail = `a client that is no member shows version ${shown}, far ahead of the clock`;
    transition.request({ kind: 'ALERT', alert: 'INVENTED_VERSION', detail });
  } else if (!isWithin(transition, draft.roundHistory.strangerAtMs, STRANGERS_PAUSE_LEASES)) {
    startRound(transition, { cause: 'UNKNOWN_VERSION', observedVersion: shown, isStranger: true });
  }
}

/** The largest version that the client shows although this history never had it; null when there is none. */
function lostVersionOf(
  recorded: GroupMetadata,
  { metadataVersion, maxObservedVersion }: ObservedVersions,
  member: Member | undefined,
): number | null {
  // The usual heartbeat: nothing is looked up.
  if (
    metadataVersion === (recorded.metadataVersion as number) &&
    (maxObservedVersion ?? 0) <= metadataVersion
  )
    return null;
  const lost = [metadataVersion, maxObservedVersion ?? 0].filter(
    (version) => version !== member?.lostVersion && isLostVersion(recorded, version),
  );
  return lost.length === 0 ? null : Math.max(...lost);
}

/**
 * Whether a version is of a timeline that Redis lost since the last round. One that is older than the recent versions cannot be
 * told; one below the last round's version was lost before that round began, and the round has answered it.
 */
export function isLostVersion(recorded: GroupMetadata, version: number): boolean {
  const { lastObservedVersion, lastRoundVersion } = recorded.rounds;
  // Of what is above, the largest that was shown is remembered: all below it betray the same loss.
  if (version > recorded.metadataVersion) return version > (lastObservedVersion ?? 0);
  if (version === lastObservedVersion) return false;
  if (version < lastRoundVersion) return false;
  return !isOfThisHistory(recorded, version);
}

/** Whether this history had the version, as far as it remembers. */
export function isOfThisHistory(
  { metadataVersion, recentVersions }: Pick<GroupMetadata, 'metadataVersion' | 'recentVersions'>,
  version: number,
): boolean {
  if (version >= metadataVersion) return version === (metadataVersion as number);
  return (
    version < (recentVersions[0] ?? 0) ||
    recentVersions.some((recent) => recent === (version as typeof recent))
  );
}

function isWithin({ context }: Transition, startMs: EpochMillis | null, leases: number): boolean {
  if (startMs === null) return false;
  const { nowMs, timing } = context;
  return !isOver(deadlineAfter(startMs, durationMs(leases * timing.memberLeaseTtlMs)), nowMs);
}
