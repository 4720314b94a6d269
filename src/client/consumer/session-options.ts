import type { HighestVersion } from '../versions/highest-version';

export interface MemberSessionOptions {
  readonly memberId: string;
  readonly memberName: string | null;
  /** Until the first answer says otherwise; `memberLeaseTtlMs` also for coordinators that never say. Milliseconds. */
  readonly timing: SessionTiming;
  readonly longPoll: boolean;
  /** Shared with the other members of the process. Default: one of its own. */
  readonly highestVersion?: HighestVersion;
  /** A new random id at each call. */
  readonly newId: () => string;
  /** Chance, 0 to below 1. */
  readonly random: () => number;
}

export interface SessionTiming {
  readonly heartbeatIntervalMs: number;
  readonly memberLeaseTtlMs: number;
  readonly rebalanceTimeoutMs: number;
}
