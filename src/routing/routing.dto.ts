import { ApiProperty } from '@nestjs/swagger';
import { QueryInteger } from '../http/validation/field-rules';
import type { ProducerRouting, RoutedShard } from '../protocol';

export class RoutingQueryDto {
  @QueryInteger({
    description: 'Version of the routing that the caller has.',
    example: 1700000000123,
    optional: true,
  })
  readonly metadataVersion?: number | null;

  @QueryInteger({
    description: 'Highest metadataVersion that this process ever saw.',
    example: 1700000000123,
    optional: true,
  })
  readonly maxObservedVersion?: number | null;

  @QueryInteger({
    description:
      'Long poll: hold the answer until the routing changes, at most this long (clamped to the refresh interval), ms.',
    example: 5000,
    optional: true,
  })
  readonly waitMs?: number | null;
}

export class RoutedShardDto implements RoutedShard {
  @ApiProperty({ type: 'integer', example: 3 })
  readonly shardIndex!: number;

  @ApiProperty({ description: 'Key of the Redis stream.', example: 'orders:3' })
  readonly streamKey!: string;

  @ApiProperty({ type: 'integer', description: 'Hash slot of the key.', example: 11402 })
  readonly redisSlot!: number;
}

export class ProducerRoutingDto implements ProducerRouting {
  @ApiProperty({ example: 'orders' })
  readonly streamPrefix!: string;

  @ApiProperty({ example: 'orders-consumer' })
  readonly consumerGroup!: string;

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly metadataVersion!: number;

  @ApiProperty({ type: 'integer', example: 4 })
  readonly shardCount!: number;

  @ApiProperty({ description: 'How stream keys are made.', example: 'orders:{shardIndex}' })
  readonly streamKeyPattern!: string;

  @ApiProperty({ type: [RoutedShardDto] })
  readonly shards!: readonly RoutedShardDto[];

  @ApiProperty({ type: 'integer', required: false, example: 1700000000003 })
  readonly assignmentEpoch?: number;

  @ApiProperty({
    type: 'integer',
    required: false,
    description: 'How long it may be used if it cannot be refreshed, ms.',
    example: 30000,
  })
  readonly leaseMs?: number;

  @ApiProperty({
    type: 'integer',
    required: false,
    description: 'How often to refresh it, ms.',
    example: 5000,
  })
  readonly refreshMs?: number;

  @ApiProperty({
    required: false,
    description: 'Below what the caller has seen, and to be taken all the same.',
    example: false,
  })
  readonly regressed?: boolean;
}
