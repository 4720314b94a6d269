import type { DecisionContext } from '../coordinator/decision';
import { countNext, drawNext } from '../epochs';
import type { FencingToken, MemberEpoch, MetadataVersion } from '../epochs';
import type { MemberId, ShardIndex } from '../ids';
import type { Member } from '../membership/member';
import { assertInvariant } from '../assert';
import type { EpochMillis } from '../time';
import type {
  Conflict,
  CorrectionRound,
  GroupMetadata,
  Occupancy,
  RoundHistory,
  Shard,
} from './group-metadata';
import { RECENT_VERSIONS_LIMIT } from './group-metadata';
import { MemberRoster } from './member-roster';

/**
 * One change of a group in the making. Copies what it touches, so that the base stays as it is; counts which numbers have to
 * move; `finish` returns the base itself when nothing changed. Lives within one decision, never longer.
 */
export class GroupDraft {
  /** The metadataVersion of this write, if it tells clients anything: drains and tenures are recorded at it. */
  readonly version: MetadataVersion;
  private members: MemberRoster | Map<MemberId, Member> | null = null;
  private shards: Shard[] | null = null;
  private lastMemberEpoch: MemberEpoch;
  private provisioning: GroupMetadata['provisioning'];
  private round: CorrectionRound | null;
  private rounds: RoundHistory;
  private redisId: string;
  private changed = false;
  private membersMoved = false;
  private targetMoved = false;
  private told = false;

  private readonly drawMs: EpochMillis;

  constructor(
    readonly base: GroupMetadata,
    { drawMs, recordedVersion }: Pick<DecisionContext, 'drawMs' | 'recordedVersion'>,
  ) {
    this.drawMs = drawMs;
    const isDrawn = recordedVersion !== null && base.metadataVersion > recordedVersion;
    this.version = isDrawn ? base.metadataVersion : drawNext(base.metadataVersion, drawMs);
    this.lastMemberEpoch = base.lastMemberEpoch;
    this.provisioning = base.provisioning;
    this.round = base.correction;
    this.rounds = base.rounds;
    this.redisId = base.redisId;
  }

  get hasMovedMembers(): boolean {
    return this.membersMoved;
  }

  /** Otherwise what is held stands to the target as it did in the base. */
  get hasMovedShards(): boolean {
    return this.shards !== null;
  }

  currentMembers(): ReadonlyMap<MemberId, Member> {
    return this.members ?? this.base.members;
  }

  currentShards(): readonly Shard[] {
    return this.shards ?? this.base.shards;
  }

  /** The correction round under way, as this draft has it. */
  get correction(): CorrectionRound | null {
    return this.round;
  }

  get roundHistory(): RoundHistory {
    return this.rounds;
  }

  isProvisioned(): boolean {
    return this.provisioning === 'COMPLETE';
  }

  /** Records a member whose change concerns the coordinator only (first heartbeat, new name, capacity above 0). */
  putMember(member: Member): void {
    const current = this.currentMembers();
    const isUpdate = current.has(member.memberId) && !(this.members instanceof Map);
    if (isUpdate) this.members = MemberRoster.of(current).withUpdated(member);
    else this.writableMembers().set(member.memberId, member);
    this.changed = true;
  }

  /** Records a member whose change decides who may hold shards: the target is computed again. */
  putMovedMember(member: Member): void {
    this.putMember(member);
    this.membersMoved = true;
  }

  forgetMember(memberId: MemberId): void {
    this.writableMembers().delete(memberId);
    this.changed = true;
  }

  issueMemberEpoch(): MemberEpoch {
    this.lastMemberEpoch = drawNext(this.lastMemberEpoch, this.drawMs);
    return this.lastMemberEpoch;
  }

  occupy(index: ShardIndex, occupancy: Occupancy): void {
    this.replaceShard(index, { ...this.shardAt(index), occupancy });
    this.told = true;
  }

  /** Grants a free shard, under a token larger than any before. */
  grant(index: ShardIndex, memberId: MemberId): void {
    const shard = this.shardAt(index);
    assertInvariant(
      shard.occupancy.kind === 'FREE',
      `grant of shard ${index}, which is ${shard.occupancy.kind}`,
    );
    const lastToken: FencingToken = drawNext(shard.lastToken, this.drawMs);
    this.replaceShard(index, { ...shard, lastToken, occupancy: { kind: 'HELD', memberId, drain: null } });
    this.told = true;
  }

  retarget(target: readonly (MemberId | null)[]): void {
    this.currentShards().forEach((shard, position) => {
      const wanted = target[position] ?? null;
      if (wanted === shard.target) return;
      this.replaceShard(position as ShardIndex, { ...shard, target: wanted });
      this.targetMoved = true;
      this.told = true;
    });
  }

  /** Held shards get a larger token, so that none that a lost write gave out is above it. */
  renewToken(index: ShardIndex): void {
    const shard = this.shardAt(index);
    this.replaceShard(index, { ...shard, lastToken: drawNext(shard.lastToken, this.drawMs) });
    this.told = true;
  }

  putConflicts(index: ShardIndex, conflicts: readonly Conflict[]): void {
    this.replaceShard(index, { ...this.shardAt(index), conflicts });
    this.told = true;
  }

  /** Starts a round at this write's version, in place of one that is under way. */
  startRound(round: CorrectionRound, rounds: RoundHistory, redisId: string): void {
    this.round = round;
    this.rounds = rounds;
    this.redisId = redisId;
    this.changed = true;
    this.told = true;
  }

  /** Notes what was learned in the round; clients are told nothing by it. */
  putRound(round: CorrectionRound): void {
    this.round = round;
    this.changed = true;
  }

  endRound(): void {
    this.round = null;
    this.changed = true;
    this.told = true;
  }

  completeProvisioning(): void {
    this.provisioning = 'COMPLETE';
    this.changed = true;
  }

  /** The changed group, or the base itself. Revision, write id and time are stamped by the critical section. */
  finish(): GroupMetadata {
    const { base } = this;
    if (!this.changed) return base;
    const told = this.told || this.membersMoved;
    const isNewVersion = told && this.version !== base.metadataVersion;
    return {
      ...base,
      metadataVersion: told ? this.version : base.metadataVersion,
      recentVersions: isNewVersion
        ? [...base.recentVersions, this.version].slice(-RECENT_VERSIONS_LIMIT)
        : base.recentVersions,
      groupEpoch: this.membersMoved ? countNext(base.groupEpoch) : base.groupEpoch,
      assignmentEpoch: this.targetMoved ? countNext(base.assignmentEpoch) : base.assignmentEpoch,
      lastMemberEpoch: this.lastMemberEpoch,
      provisioning: this.provisioning,
      shards: this.currentShards(),
      members: this.currentMembers(),
      correction: this.round,
      rounds: this.rounds,
      redisId: this.redisId,
    };
  }

  private shardAt(index: ShardIndex): Shard {
    const shard = this.currentShards()[index];
    assertInvariant(shard !== undefined, `shard ${index} of ${this.base.shards.length}`);
    return shard;
  }

  private replaceShard(index: ShardIndex, shard: Shard): void {
    this.shards ??= [...this.base.shards];
    this.shards[index] = shard;
    this.changed = true;
  }

  /** For newcomers and those who are forgotten: from here on this draft has a table of its own. */
  private writableMembers(): Map<MemberId, Member> {
    if (!(this.members instanceof Map)) this.members = new Map(this.currentMembers());
    return this.members;
  }
}
