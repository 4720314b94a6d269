import type { MemberId, ShardIndex } from '../ids';
import { isLive } from '../membership/member';
import type { Member, MemberState } from '../membership/member';
import type { EpochMillis } from '../time';
import { memberShards } from './derived-state';
import type { GroupMetadata, Leases } from './group-metadata';
import { outlookOf } from '../correction/outlook';
import type { RoundOutlook } from '../correction/outlook';
import { waitOf } from './shard-wait';
import type { ShardFlow, Wait, WaitContext, WaitReason } from './shard-wait';

/** Who has a shard, who should, and what stands in between. */
export interface ShardExplanation {
  readonly index: ShardIndex;
  /** Who may be reading it: its holder, or the tenure whose lease it waits for. */
  readonly holder: MemberId | null;
  /** Who should read it and does not hold it. */
  readonly waiting: MemberId | null;
  /** null: nothing is wrong with it. */
  readonly wait: Wait | null;
  /** null: it was not looked at. */
  readonly flow: ShardFlow | null;
}

export interface MemberExplanation {
  readonly memberId: MemberId;
  readonly state: MemberState;
  readonly stateSinceMs: EpochMillis;
  /** null: it has none. */
  readonly leaseRemainingMs: number | null;
  /** Whether it has told what it reads in the round under way; null: there is none, or it is not asked. */
  readonly hasTold: boolean | null;
  /** What it should have and does not hold. */
  readonly pending: readonly ShardIndex[];
  /** What it has to let go of. */
  readonly revoking: readonly ShardIndex[];
  /** Why it does not have what is pending, each reason once. */
  readonly reasons: readonly WaitReason[];
  /** On whom that depends. */
  readonly waitsFor: readonly MemberId[];
  /** When the last of its waits is over; null: it waits for nothing, or the end of a wait is not known. */
  readonly untilMs: EpochMillis | null;
}

export interface GroupExplanation {
  readonly outlook: RoundOutlook | null;
  readonly shards: readonly ShardExplanation[];
  readonly members: readonly MemberExplanation[];
}

/** Why each shard of a group is where it is, from one moment's facts; nothing is remembered between two of these. */
export function explainGroup(
  metadata: GroupMetadata,
  leases: Leases,
  context: WaitContext,
): GroupExplanation {
  const outlook = outlookOf(metadata, context.timing);
  const facts = { metadata, leases, outlook, context };
  const shards = metadata.shards.map((shard, position): ShardExplanation => {
    const index = position as ShardIndex;
    const { occupancy, target } = shard;
    const holder = occupancy.kind === 'FREE' ? null : occupancy.memberId;
    const isRead = occupancy.kind === 'HELD' && holder === target;
    return {
      index,
      holder,
      waiting: isRead ? null : target,
      wait: waitOf(facts, index, shard),
      flow: context.flows.get(index) ?? null,
    };
  });
  const members = [...metadata.members.values()].map((member) =>
    explainMember(member, { metadata, leases, outlook, shards, nowMs: context.nowMs }),
  );
  return { outlook, shards, members };
}

interface MemberFacts {
  readonly metadata: GroupMetadata;
  readonly leases: Leases;
  readonly outlook: RoundOutlook | null;
  readonly shards: readonly ShardExplanation[];
  readonly nowMs: EpochMillis;
}

function explainMember(member: Member, facts: MemberFacts): MemberExplanation {
  const { metadata, leases, outlook, shards, nowMs } = facts;
  const { memberId, state, stateChangedAtMs } = member;
  const { pending, revoking } = memberShards(metadata, memberId);
  const waits = pending.flatMap((index) => shards[index]?.wait ?? []);
  const ends = waits.map(({ untilMs }) => untilMs);
  const isEndKnown = ends.length > 0 && ends.every((end) => end !== null);
  const leaseEndMs = leases.get(memberId);
  return {
    memberId,
    state,
    stateSinceMs: stateChangedAtMs,
    leaseRemainingMs: leaseEndMs === undefined ? null : Math.max(0, leaseEndMs - nowMs),
    hasTold: outlook === null || !isLive(member) ? null : outlook.round.synced.has(memberId),
    pending,
    revoking,
    reasons: [...new Set(waits.map(({ reason }) => reason))],
    waitsFor: [...new Set(waits.flatMap(({ by }) => by))],
    untilMs: isEndKnown ? (Math.max(...ends) as EpochMillis) : null,
  };
}
