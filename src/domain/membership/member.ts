import type { InstanceId, MemberId } from '../ids';
import type { MemberEpoch, MetadataVersion } from '../epochs';
import type { EpochMillis } from '../time';

/**
 * The states of a member (docs/protocol.md, Members):
 * STARTING  joined, the first heartbeat with the issued epoch is awaited
 * ACTIVE    heartbeats with its epoch
 * LEAVING   asked to leave; forgotten once it holds nothing
 * EXPIRED   its lease ran out; its shards are free
 * FENCED    excluded by a deadline, a claim or an operator; its shards stay blocked until its recorded lease ends
 * The first three are live: they hold a lease. The last two are kept for a time so that their zombies are told so.
 */
export type MemberState = 'STARTING' | 'ACTIVE' | 'LEAVING' | 'EXPIRED' | 'FENCED';

export interface Member {
  readonly memberId: MemberId;
  readonly memberName: string | null;
  readonly state: MemberState;
  readonly stateChangedAtMs: EpochMillis;
  readonly memberEpoch: MemberEpoch;
  /** Of the tenure; null for clients that send none. */
  readonly instanceId: InstanceId | null;
  /** The metadataVersion at which the tenure joined. */
  readonly joinedVersion: MetadataVersion;
  /** 0: not eligible for shards. */
  readonly maxConcurrency: number;
  /** When this member last started a correction round, or told what it reads in one; null: never. */
  readonly correctedAtMs: EpochMillis | null;
  /** The lost version that it showed then: shown again, it is no news. */
  readonly lostVersion: number | null;
}

export function isLive(member: Member): boolean {
  return member.state === 'STARTING' || member.state === 'ACTIVE' || member.state === 'LEAVING';
}

/** Whether the target assignment may name this member. */
export function isEligible(member: Member): boolean {
  return (member.state === 'STARTING' || member.state === 'ACTIVE') && member.maxConcurrency > 0;
}
