import { ApiProperty } from '@nestjs/swagger';
import { HEARTBEAT_STATUSES } from '../protocol';
import type { HeartbeatAnswer, HeartbeatAssignment, HeartbeatStatus, ShardToken } from '../protocol';
import { ShardIdDto } from '../http/member-report.dto';

export class ShardTokenDto implements ShardToken {
  @ApiProperty({ type: 'integer', example: 3 })
  readonly shardIndex!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Grows with each grant of the shard: for conditional writes.',
    example: 1700000000123,
  })
  readonly token!: number;
}

export class HeartbeatAssignmentDto implements HeartbeatAssignment {
  @ApiProperty({ type: [ShardIdDto], description: 'Shards that this member reads.' })
  readonly assignedShards!: readonly ShardIdDto[];

  @ApiProperty({
    type: [ShardIdDto],
    description: 'Shards that it gets once another member has let them go.',
  })
  readonly pendingShards!: readonly ShardIdDto[];

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly metadataVersion!: number;

  @ApiProperty({ type: [ShardIdDto], required: false, description: 'Shards that it holds and has to drain.' })
  readonly revokingShards?: readonly ShardIdDto[];

  @ApiProperty({
    type: [ShardTokenDto],
    required: false,
    description: 'Fencing tokens of the assigned shards.',
  })
  readonly fencingTokens?: readonly ShardTokenDto[];
}

export class HeartbeatAnswerDto implements HeartbeatAnswer {
  @ApiProperty({ description: 'The requestId of the request.', example: 'hb-42' })
  readonly responseTo!: string;

  @ApiProperty({ enum: HEARTBEAT_STATUSES, example: 'OK' })
  readonly status!: HeartbeatStatus;

  @ApiProperty({ example: 'worker-1-m0' })
  readonly memberId!: string;

  @ApiProperty({
    type: 'integer',
    description: 'To be sent with the next heartbeat.',
    example: 1700000000100,
  })
  readonly memberEpoch!: number;

  @ApiProperty({ type: 'integer', description: 'ms', example: 3000 })
  readonly heartbeatIntervalMs!: number;

  @ApiProperty({ type: 'integer', description: 'ms', example: 60000 })
  readonly rebalanceTimeoutMs!: number;

  @ApiProperty({ type: 'integer', example: 1700000000003 })
  readonly groupEpoch!: number;

  @ApiProperty({ type: 'integer', example: 1700000000003 })
  readonly assignmentEpoch!: number;

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly metadataVersion!: number;

  @ApiProperty({ type: HeartbeatAssignmentDto })
  readonly assignment!: HeartbeatAssignmentDto;

  @ApiProperty({
    type: 'integer',
    required: false,
    description: 'ms; a client counts from the moment it sent the request.',
    example: 15000,
  })
  readonly leaseTtlMs?: number;
}
