import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { RuntimeConsumerCapacityDto, ShardIdDto, ShardProgressDto } from '../http/member-report.dto';
import type { AssignmentsView, MemberStateName, MemberView } from '../protocol';

export const MEMBER_STATES = ['STARTING', 'ACTIVE', 'LEAVING', 'EXPIRED', 'FENCED'];
const SHARDS_PER_MEMBER = {
  type: 'object' as const,
  additionalProperties: { type: 'array', items: { $ref: getSchemaPath(ShardIdDto) } },
};

export class MemberViewDto implements MemberView {
  @ApiProperty({ example: 'worker-1-m0' })
  readonly memberId!: string;

  @ApiProperty({ type: String, nullable: true, example: 'worker 1' })
  readonly memberName!: string | null;

  @ApiProperty({ enum: MEMBER_STATES, example: 'ACTIVE' })
  readonly state!: MemberStateName;

  @ApiProperty({ type: 'integer', example: 1700000000100 })
  readonly memberEpoch!: number;

  @ApiProperty({ type: 'integer', description: 'At which this tenure joined.', example: 1700000000100 })
  readonly metadataVersion!: number;

  @ApiProperty({
    type: [ShardIdDto],
    description: 'Granted and not given back.',
    example: [{ shardIndex: 0 }],
  })
  readonly currentAssignment!: readonly ShardIdDto[];

  @ApiProperty({ type: [ShardIdDto], description: 'Of these, to be drained.', example: [] })
  readonly revoking!: readonly ShardIdDto[];

  @ApiProperty({ type: 'integer', nullable: true, description: 'ms; null without a lease.', example: 14200 })
  readonly leaseRemainingMs!: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Redis clock, ms.', example: 1700000000000 })
  readonly lastHeartbeatAt!: number | null;

  @ApiProperty({ type: RuntimeConsumerCapacityDto })
  readonly runtimeConsumerCapacity!: RuntimeConsumerCapacityDto;

  @ApiProperty({ type: [ShardProgressDto], description: 'As last reported.', example: [] })
  readonly shardProgress!: readonly ShardProgressDto[];

  @ApiProperty({
    type: Boolean,
    nullable: true,
    description:
      'Whether it has told what it reads in the correction round under way; null: there is none, or it is not asked.',
    example: null,
  })
  readonly hasTold!: boolean | null;
}

export class MembersDto {
  @ApiProperty({ type: [MemberViewDto] })
  readonly members!: readonly MemberViewDto[];
}

export class AssignmentsDto implements AssignmentsView {
  @ApiProperty({
    ...SHARDS_PER_MEMBER,
    description: 'Who should read what.',
    example: { 'worker-1-m0': [{ shardIndex: 0 }] },
  })
  readonly targetAssignment!: Readonly<Record<string, readonly ShardIdDto[]>>;

  @ApiProperty({
    ...SHARDS_PER_MEMBER,
    description: 'Who was granted what.',
    example: { 'worker-1-m0': [{ shardIndex: 0 }] },
  })
  readonly currentAssignments!: Readonly<Record<string, readonly ShardIdDto[]>>;

  @ApiProperty({ ...SHARDS_PER_MEMBER, description: 'Who has to give up what.', example: {} })
  readonly revokeProgress!: Readonly<Record<string, readonly ShardIdDto[]>>;

  @ApiProperty({ type: [String], description: 'Empty unless there is a defect.', example: [] })
  readonly invariantViolations!: readonly string[];
}
