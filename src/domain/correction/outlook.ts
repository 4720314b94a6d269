import type { CorrectionRound, GroupMetadata, Occupancy } from '../group/group-metadata';
import type { MemberId } from '../ids';
import { isLive } from '../membership/member';
import { deadlineAfter, durationMs } from '../time';
import type { CoordinationTiming, EpochMillis } from '../time';

/** Who keeps a round open is fenced after so many leases and one rebalance timeout. */
const PATIENCE_LEASES = 2;

type RoundTiming = Pick<CoordinationTiming, 'memberLeaseTtlMs' | 'rebalanceTimeoutMs'>;

/** The round under way with what its end depends on. */
export interface RoundOutlook {
  readonly round: CorrectionRound;
  /** Live members that have not told what they read. */
  readonly pendingMembers: readonly MemberId[];
  /** It does not end before: who could not be asked has outlived its lease then. */
  readonly earliestEndMs: EpochMillis;
  /** Who keeps it open then is fenced. */
  readonly boundMs: EpochMillis;
}

export function outlookOf(
  { correction: round, members }: Pick<GroupMetadata, 'correction' | 'members'>,
  timing: RoundTiming,
): RoundOutlook | null {
  if (round === null) return null;
  return {
    round,
    pendingMembers: membersToTell(members, round),
    earliestEndMs: earliestEndMs(round, timing),
    boundMs: boundMs(round, timing),
  };
}

/** Live members that have not told what they read. */
export function membersToTell(
  members: GroupMetadata['members'],
  { synced }: Pick<CorrectionRound, 'synced'>,
): MemberId[] {
  const silent: MemberId[] = [];
  for (const member of members.values()) {
    if (isLive(member) && !synced.has(member.memberId)) silent.push(member.memberId);
  }
  return silent;
}

/** One member lease has passed, in which members that only lost writes had admitted have stopped, and silent ones outlived theirs. */
export function earliestEndMs(
  { startedAtMs, silentUntilMs }: CorrectionRound,
  { memberLeaseTtlMs }: Pick<RoundTiming, 'memberLeaseTtlMs'>,
): EpochMillis {
  const leaseOverMs = deadlineAfter(startedAtMs, durationMs(memberLeaseTtlMs));
  return leaseOverMs > silentUntilMs ? leaseOverMs : silentUntilMs;
}

export function boundMs(
  { startedAtMs }: CorrectionRound,
  { memberLeaseTtlMs, rebalanceTimeoutMs }: RoundTiming,
): EpochMillis {
  return deadlineAfter(startedAtMs, durationMs(PATIENCE_LEASES * memberLeaseTtlMs + rebalanceTimeoutMs));
}

/** Whether a shard is being drained since before the round: its end waits for that. */
export function isDrainedFromBefore(
  occupancy: Occupancy,
  { roundVersion }: Pick<CorrectionRound, 'roundVersion'>,
): boolean {
  return (
    occupancy.kind === 'HELD' && occupancy.drain !== null && occupancy.drain.recordedVersion <= roundVersion
  );
}
