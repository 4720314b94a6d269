import type { RuntimeConsumerCapacity, ShardId, ShardProgress } from '../protocol';
import { Instant, Integer, NestedObject, Text } from './validation/field-rules';

/** `<streamPrefix>:<index>` at its longest, and room for layouts to come. */
const MAX_STREAM_KEY_LENGTH = 256;
const MAX_ENTRY_ID_LENGTH = 64;

export class ShardIdDto implements ShardId {
  @Integer({ description: 'Index of a shard, from 0, below COORD_MAX_SHARD_COUNT.', example: 3 })
  readonly shardIndex!: number;
}

export class RuntimeConsumerCapacityDto implements RuntimeConsumerCapacity {
  @Integer({ description: 'Handlers that may run at once. 0: this member gets no shards.', example: 4 })
  readonly runtimeMaxConcurrency!: number;

  @Integer({ description: 'Handlers that could start now.', example: 2 })
  readonly availableConcurrency!: number;
}

export class ShardProgressDto implements ShardProgress {
  @NestedObject({ description: 'The shard that is read.', of: () => ShardIdDto })
  readonly shard!: ShardIdDto;

  @Text({ description: 'Key of its stream.', example: 'orders:3', max: MAX_STREAM_KEY_LENGTH })
  readonly streamKey!: string;

  @Text({
    description: 'Entry that was delivered last.',
    example: '1700000000000-0',
    max: MAX_ENTRY_ID_LENGTH,
    optional: true,
  })
  readonly lastDeliveredId?: string | null;

  @Text({
    description: 'Entry that was acked last.',
    example: '1700000000000-0',
    max: MAX_ENTRY_ID_LENGTH,
    optional: true,
  })
  readonly lastAckedId?: string | null;

  @Integer({ description: 'Entries delivered to this member and not acked.', example: 0 })
  readonly pendingCount!: number;

  @Instant({
    description: 'When this progress was taken; for display.',
    example: 1700000000000,
    optional: true,
  })
  readonly updatedAt?: number | string | null;
}
