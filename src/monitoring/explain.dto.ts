import { ApiProperty } from '@nestjs/swagger';
import { CorrectionDto } from '../http/group.view';
import { ShardIdDto } from '../http/member-report.dto';
import { WAIT_REASONS } from '../protocol';
import type {
  CorrectionOutlookView,
  ExplainView,
  GroupStateName,
  MemberExplanationView,
  MemberStateName,
  QuietPeriodView,
  ShardExplanationView,
  WaitReasonName,
} from '../protocol';
import { MEMBER_STATES } from './members.dto';
import { GROUP_STATES } from './monitoring.dto';

const INSTANT = { type: 'integer', description: 'Redis clock, ms.', example: 1700000000000 } as const;
const REASON = { enum: WAIT_REASONS, example: 'WAITING_FOR_REVOKE' } as const;

export class CorrectionOutlookDto extends CorrectionDto implements CorrectionOutlookView {
  @ApiProperty({ ...INSTANT, description: 'The round does not end before. Redis clock, ms.' })
  readonly earliestEndAt!: number;

  @ApiProperty({ ...INSTANT, description: 'When members that keep it open are fenced. Redis clock, ms.' })
  readonly fenceAt!: number;
}

export class QuietPeriodDto implements QuietPeriodView {
  @ApiProperty({
    ...INSTANT,
    nullable: true,
    description: 'null, both: until the event loop of this coordinator has passed again. Redis clock, ms.',
  })
  readonly since!: number | null;

  @ApiProperty({ ...INSTANT, nullable: true })
  readonly until!: number | null;

  @ApiProperty({ description: 'Whether this coordinator may grant shards meanwhile.', example: true })
  readonly mayGrant!: boolean;
}

export class ShardExplanationDto implements ShardExplanationView {
  @ApiProperty({ type: 'integer', example: 3 })
  readonly shardIndex!: number;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Who may be reading it.',
    example: 'worker-1-m0',
  })
  readonly holder!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Who should read it and does not hold it.',
    example: 'worker-2-m0',
  })
  readonly waiting!: string | null;

  @ApiProperty({ ...REASON, nullable: true, description: 'null: nothing is wrong with it.' })
  readonly reason!: WaitReasonName | null;

  @ApiProperty({
    ...INSTANT,
    nullable: true,
    description: 'Of the reason; null: not known. Redis clock, ms.',
  })
  readonly since!: number | null;

  @ApiProperty({
    ...INSTANT,
    nullable: true,
    description: 'When this is over at the latest; null: not known. Redis clock, ms.',
  })
  readonly until!: number | null;

  @ApiProperty({ type: [String], description: 'Members on whom that depends.', example: ['worker-1-m0'] })
  readonly waitsFor!: readonly string[];

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Entries that were never delivered; null: Redis cannot tell.',
    example: 12,
  })
  readonly lag!: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Entries delivered and not acked; null: Redis cannot tell.',
    example: 1,
  })
  readonly pendingCount!: number | null;
}

export class MemberExplanationDto implements MemberExplanationView {
  @ApiProperty({ example: 'worker-2-m0' })
  readonly memberId!: string;

  @ApiProperty({ enum: MEMBER_STATES, example: 'ACTIVE' })
  readonly state!: MemberStateName;

  @ApiProperty({ ...INSTANT, description: 'Of the state. Redis clock, ms.' })
  readonly since!: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'ms; null without a lease.', example: 14200 })
  readonly leaseRemainingMs!: number | null;

  @ApiProperty({
    type: Boolean,
    nullable: true,
    description:
      'Whether it has told what it reads in the correction round under way; null: there is none, or it is not asked.',
    example: null,
  })
  readonly hasTold!: boolean | null;

  @ApiProperty({
    type: [ShardIdDto],
    description: 'What it should have and does not hold.',
    example: [{ shardIndex: 3 }],
  })
  readonly pendingShards!: readonly ShardIdDto[];

  @ApiProperty({ type: [ShardIdDto], description: 'What it has to let go of.', example: [] })
  readonly revokingShards!: readonly ShardIdDto[];

  @ApiProperty({
    ...REASON,
    isArray: true,
    description: 'Why it does not hold what is pending.',
    example: ['WAITING_FOR_REVOKE'],
  })
  readonly reasons!: readonly WaitReasonName[];

  @ApiProperty({ type: [String], description: 'Members on whom that depends.', example: ['worker-1-m0'] })
  readonly waitsFor!: readonly string[];

  @ApiProperty({
    ...INSTANT,
    nullable: true,
    description: 'When the last of its waits is over; null: it waits for nothing, or that is not known.',
  })
  readonly until!: number | null;
}

export class ExplainDto implements ExplainView {
  @ApiProperty({ example: 'orders' })
  readonly streamPrefix!: string;

  @ApiProperty({ example: 'orders-consumer' })
  readonly consumerGroup!: string;

  @ApiProperty({ enum: GROUP_STATES, example: 'RECONCILING' })
  readonly state!: GroupStateName;

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly metadataVersion!: number;

  @ApiProperty({ type: 'integer', example: 4 })
  readonly shardCount!: number;

  @ApiProperty({ enum: ['PENDING', 'COMPLETE'], description: 'Of the streams.', example: 'COMPLETE' })
  readonly provisioning!: 'PENDING' | 'COMPLETE';

  @ApiProperty({ ...INSTANT, description: 'When Redis was read, by its clock, ms.' })
  readonly observedAt!: number;

  @ApiProperty({ type: CorrectionOutlookDto, nullable: true, example: null })
  readonly correction!: CorrectionOutlookDto | null;

  @ApiProperty({
    type: QuietPeriodDto,
    nullable: true,
    description: 'null: the coordinator that answers may end tenures and grant in this group.',
    example: null,
  })
  readonly quietPeriod!: QuietPeriodDto | null;

  @ApiProperty({ type: [ShardExplanationDto] })
  readonly shards!: readonly ShardExplanationDto[];

  @ApiProperty({ type: [MemberExplanationDto] })
  readonly members!: readonly MemberExplanationDto[];
}
