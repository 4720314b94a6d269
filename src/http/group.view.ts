import { ApiProperty } from '@nestjs/swagger';
import { groupState, memberShards } from '../domain/group/derived-state';
import type { GroupMetadata } from '../domain/group/group-metadata';
import { membersToTell } from '../domain/correction/outlook';
import type { MemberId, ShardIndex } from '../domain/ids';
import { isLive } from '../domain/membership/member';
import type { CorrectionView, GroupStateName, GroupView, RoundCauseName, ShardId } from '../protocol';
import { ROUND_CAUSES } from '../protocol';

const SUMMARY = { type: 'object', additionalProperties: { type: 'integer' } } as const;

export class CorrectionDto implements CorrectionView {
  @ApiProperty({
    enum: ROUND_CAUSES,
    description: 'What betrayed that Redis lost writes.',
    example: 'REDIS_ID',
  })
  readonly cause!: RoundCauseName;

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly roundVersion!: number;

  @ApiProperty({ type: 'integer', description: 'Redis clock, ms.', example: 1700000000123 })
  readonly startedAt!: number;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'The version that betrayed the loss; null for other causes.',
    example: null,
  })
  readonly observedVersion!: number | null;

  @ApiProperty({
    type: [String],
    description: 'Live members that have not told what they read.',
    example: ['worker-1-m0'],
  })
  readonly pendingMembers!: readonly string[];
}

/** A group as administration and monitoring show it. */
export class GroupViewDto implements GroupView {
  @ApiProperty({ example: 'orders' })
  readonly streamPrefix!: string;

  @ApiProperty({ example: 'orders-consumer' })
  readonly consumerGroup!: string;

  @ApiProperty({
    enum: ['EMPTY', 'ASSIGNING', 'RECONCILING', 'STABLE'],
    description:
      'EMPTY no live member; ASSIGNING a shard is free and not granted; RECONCILING a drain is open; else STABLE.',
    example: 'STABLE',
  })
  readonly state!: GroupStateName;

  @ApiProperty({
    type: 'integer',
    description: 'Moves with membership and the shard set.',
    example: 1700000000003,
  })
  readonly groupEpoch!: number;

  @ApiProperty({ type: 'integer', description: 'Moves with the target assignment.', example: 1700000000003 })
  readonly assignmentEpoch!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Moves with anything that a client is told.',
    example: 1700000000123,
  })
  readonly metadataVersion!: number;

  @ApiProperty({ type: 'integer', example: 4 })
  readonly shardCount!: number;

  @ApiProperty({
    type: 'object',
    nullable: true,
    additionalProperties: true,
    description: 'The running resharding, if any.',
    example: null,
  })
  readonly activeMigration!: null;

  @ApiProperty({
    ...SUMMARY,
    description: 'Shards that each member should have.',
    example: { 'worker-1-m0': 4 },
  })
  readonly targetAssignmentSummary!: Readonly<Record<string, number>>;

  @ApiProperty({
    ...SUMMARY,
    description: 'Shards that each member was granted.',
    example: { 'worker-1-m0': 4 },
  })
  readonly currentAssignmentSummary!: Readonly<Record<string, number>>;

  @ApiProperty({
    type: CorrectionDto,
    nullable: true,
    description: 'The correction round under way (Redis lost writes, or may have); null when there is none.',
    example: null,
  })
  readonly correction!: CorrectionDto | null;
}

export function groupViewOf(metadata: GroupMetadata): GroupView {
  return {
    streamPrefix: metadata.streamPrefix,
    consumerGroup: metadata.consumerGroup,
    state: groupState(metadata),
    groupEpoch: metadata.groupEpoch,
    assignmentEpoch: metadata.assignmentEpoch,
    metadataVersion: metadata.metadataVersion,
    shardCount: metadata.shardCount,
    activeMigration: null,
    targetAssignmentSummary: perLiveMember(metadata, (memberId) => targetOf(metadata, memberId).length),
    currentAssignmentSummary: perLiveMember(metadata, (memberId) => heldBy(metadata, memberId).length),
    correction: correctionViewOf(metadata),
  };
}

export function correctionViewOf(metadata: GroupMetadata): CorrectionView | null {
  const { correction } = metadata;
  if (correction === null) return null;
  const { cause, roundVersion, startedAtMs, observedVersion } = correction;
  const pendingMembers = membersToTell(metadata.members, correction);
  return { cause, roundVersion, startedAt: startedAtMs, observedVersion, pendingMembers };
}

/** What a member should have, ascending. */
export function targetOf(metadata: GroupMetadata, memberId: MemberId): readonly ShardIndex[] {
  const { assigned, pending } = memberShards(metadata, memberId);
  return [...assigned, ...pending].sort((a, b) => a - b);
}

/** What a member was granted and has not given back, ascending. */
export function heldBy(metadata: GroupMetadata, memberId: MemberId): readonly ShardIndex[] {
  const { assigned, revoking } = memberShards(metadata, memberId);
  return [...assigned, ...revoking].sort((a, b) => a - b);
}

/** One entry per live member. A member id is never `__proto__` (domain/ids), so that it is an ordinary key. */
export function perLiveMember<Value>(
  metadata: GroupMetadata,
  valueOf: (memberId: MemberId) => Value,
): Readonly<Record<string, Value>> {
  const live = [...metadata.members.values()].filter(isLive);
  return Object.fromEntries(live.map(({ memberId }) => [memberId, valueOf(memberId)]));
}

export function shardIdsOf(indexes: readonly ShardIndex[]): readonly ShardId[] {
  return indexes.map((index) => ({ shardIndex: index }));
}
