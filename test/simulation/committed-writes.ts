import { findViolations } from '../../src/domain/group/invariants';
import type { GroupMetadata, Leases, Shard } from '../../src/domain/group/group-metadata';
import { isEligible, isLive } from '../../src/domain/membership/member';

/** How the committed writes of a group's history must look, whatever the order of events was. */
export type Report = (invariant: string, detail: string) => void;

/**
 * Judges every committed write against the one it was based on, and against all that were ever committed, those included that
 * Redis lost: numbers move as docs/protocol.md says, and those that are drawn from the clock never repeat.
 */
export class CommittedWrites {
  /** What was ever recorded as granted, lost or not: `<shard>:<token>` -> `<member>:<epoch>`. */
  readonly grants = new Map<string, string>();
  /** The largest number that was drawn from the clock. */
  largestDrawn = 0;
  /** Of those, as far as Redis may have lost the writes that drew them. */
  largestForgotten = 0;
  checks = 0;
  private readonly byWriteId = new Map<string, GroupMetadata>();
  private readonly versions = new Set<number>();
  private readonly epochs = new Set<number>();

  constructor(private readonly report: Report) {}

  /** `baseWriteId` null: the group did not exist before. */
  committed(baseWriteId: string | null, next: GroupMetadata, leases: Leases): void {
    const base = baseWriteId === null ? null : (this.byWriteId.get(baseWriteId) ?? null);
    if (baseWriteId !== null && base === null) this.report('WRITE_BASE', 'based on a write that nobody made');
    if (this.byWriteId.has(next.writeId)) this.report('WRITE_ID', `write id ${next.writeId} was used before`);
    this.byWriteId.set(next.writeId, next);
    this.checks += 1;
    for (const violation of findViolations(next, leases)) this.report('AGGREGATE', violation);
    this.checkVersion(base, next);
    this.checkCounters(base, next);
    this.checkEpochs(base, next);
    next.shards.forEach((shard, index) => this.checkShard(base, next, index, shard));
    this.largestDrawn = Math.max(this.largestDrawn, next.metadataVersion, next.lastMemberEpoch);
  }

  /** Redis lost writes. */
  forgotten(): void {
    this.largestForgotten = this.largestDrawn;
  }

  metadataOf(writeId: string): GroupMetadata | null {
    return this.byWriteId.get(writeId) ?? null;
  }

  private checkVersion(base: GroupMetadata | null, next: GroupMetadata): void {
    const version = next.metadataVersion;
    if (base !== null && version === base.metadataVersion) {
      if (!tellsTheSame(base, next))
        this.report('METADATA_VERSION', `version ${version} stayed, but clients are told something else`);
      return;
    }
    if (base !== null && version < base.metadataVersion)
      this.report('METADATA_VERSION', `version went back from ${base.metadataVersion} to ${version}`);
    if (this.versions.has(version)) this.report('METADATA_VERSION', `version ${version} was drawn twice`);
    this.versions.add(version);
  }

  private checkCounters(base: GroupMetadata | null, next: GroupMetadata): void {
    if (base === null) return;
    if (next.incarnation !== base.incarnation) this.report('INCARNATION', 'the incarnation changed');
    if (next.storeRevision !== base.storeRevision + 1)
      this.report('STORE_REVISION', `revision moved from ${base.storeRevision} to ${next.storeRevision}`);
    if (next.updatedAtMs < base.updatedAtMs) this.report('UPDATED_AT', 'the time of the write went back');
    const isMoved = membershipOf(base) !== membershipOf(next);
    if (isMoved ? next.groupEpoch <= base.groupEpoch : next.groupEpoch < base.groupEpoch)
      this.report('GROUP_EPOCH', `groupEpoch moved from ${base.groupEpoch} to ${next.groupEpoch}`);
    const isRetargeted = next.shards.some(({ target }, index) => target !== base.shards[index]?.target);
    if (
      isRetargeted
        ? next.assignmentEpoch <= base.assignmentEpoch
        : next.assignmentEpoch < base.assignmentEpoch
    )
      this.report('ASSIGNMENT_EPOCH', `it moved from ${base.assignmentEpoch} to ${next.assignmentEpoch}`);
  }

  private checkEpochs(base: GroupMetadata | null, next: GroupMetadata): void {
    if (base !== null && next.lastMemberEpoch < base.lastMemberEpoch)
      this.report('MEMBER_EPOCH', 'the largest issued epoch went back');
    for (const { memberId, memberEpoch } of next.members.values()) {
      if (base?.members.get(memberId)?.memberEpoch === memberEpoch) continue;
      if (base !== null && memberEpoch <= base.lastMemberEpoch)
        this.report(
          'MEMBER_EPOCH',
          `${memberId} got epoch ${memberEpoch}, not above ${base.lastMemberEpoch}`,
        );
      if (this.epochs.has(memberEpoch)) this.report('MEMBER_EPOCH', `epoch ${memberEpoch} was issued twice`);
      this.epochs.add(memberEpoch);
    }
  }

  private checkShard(base: GroupMetadata | null, next: GroupMetadata, index: number, shard: Shard): void {
    const before = base?.shards[index];
    const { lastToken: token } = shard;
    if (before !== undefined && token < before.lastToken)
      this.report('FENCING_TOKEN', `token of shard ${index} went back from ${before.lastToken} to ${token}`);
    this.largestDrawn = Math.max(this.largestDrawn, token);
    if (shard.occupancy.kind !== 'HELD') return;
    const { memberId } = shard.occupancy;
    const grant = `${memberId}:${next.members.get(memberId)?.memberEpoch ?? 0}`;
    const known = this.grants.get(`${index}:${token}`);
    if (known === undefined) this.grants.set(`${index}:${token}`, grant);
    else if (known !== grant)
      this.report('FENCING_TOKEN', `token ${token} of shard ${index} went to ${known} and to ${grant}`);
  }
}

/** What moves groupEpoch: a member that leaves has moved it when it became LEAVING. */
function membershipOf({ members }: GroupMetadata): string {
  let text = '';
  for (const member of members.values()) {
    if (isLive(member) && member.state !== 'LEAVING')
      text += `${member.memberId}:${member.memberEpoch}:${isEligible(member)} `;
  }
  return text;
}

function tellsTheSame(one: GroupMetadata, other: GroupMetadata): boolean {
  if (one.shards === other.shards && one.members === other.members) return true;
  return (
    one.shards.length === other.shards.length &&
    one.shards.every((shard, index) => {
      const twin = other.shards[index];
      return twin !== undefined && shard.target === twin.target && holderOf(shard) === holderOf(twin);
    }) &&
    membershipOf(one) === membershipOf(other)
  );
}

function holderOf({ occupancy, lastToken }: Shard): string {
  switch (occupancy.kind) {
    case 'FREE':
      return 'free';
    case 'HELD':
      return `held ${occupancy.memberId} ${lastToken}`;
    case 'BLOCKED':
      return `blocked ${occupancy.memberId} ${occupancy.memberEpoch}`;
  }
}
