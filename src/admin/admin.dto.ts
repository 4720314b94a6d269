import { ApiProperty } from '@nestjs/swagger';
import { SHARD_COUNT_CEILING } from '../config/options';
import { CONSUMER_GROUP_PATTERN } from '../domain/ids';
import { Flag, Integer, Name, Text } from '../http/validation/field-rules';
import type {
  CreateBody,
  CreatedStream,
  CreateStreamBody,
  DeleteGroupBody,
  FenceMemberBody,
} from '../protocol';

const REQUESTED_BY = { description: 'Who asks for it; logged.', example: 'alice', max: 200 };
const REASON = { description: 'Why; logged.', example: 'decommissioned', max: 1_000 };
const EXPECTED_VERSION = {
  description: 'If the recorded metadataVersion is another one, nothing happens: 409 STATE_CONFLICT.',
  example: 1700000000123,
  optional: true,
};

export class CreateGroupDto implements CreateBody {
  @Integer({
    description:
      'Shards of the stream (COORD_DEFAULT_SHARD_COUNT), up to COORD_MAX_SHARD_COUNT. A second group of a stream takes the shard count of the stream.',
    example: 4,
    min: 1,
    max: SHARD_COUNT_CEILING,
    optional: true,
  })
  readonly initialShardCount?: number | null;

  @Text(REQUESTED_BY)
  readonly requestedBy!: string;

  @Text({ ...REASON, optional: true })
  readonly reason?: string | null;
}

export class CreateStreamDto extends CreateGroupDto implements CreateStreamBody {
  @Name({
    description: 'Its first consumer group; <streamPrefix>-consumer if absent.',
    example: 'orders-consumer',
    pattern: CONSUMER_GROUP_PATTERN,
    optional: true,
  })
  readonly consumerGroup?: string | null;
}

export class CreatedStreamDto implements CreatedStream {
  @ApiProperty({ example: 'orders' })
  readonly streamPrefix!: string;

  @ApiProperty({ example: 'orders-consumer' })
  readonly consumerGroup!: string;

  @ApiProperty({ type: 'integer', example: 4 })
  readonly shardCount!: number;

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly metadataVersion!: number;
}

export class FenceMemberDto implements FenceMemberBody {
  @Text(REQUESTED_BY)
  readonly requestedBy!: string;

  @Text(REASON)
  readonly reason!: string;

  @Integer(EXPECTED_VERSION)
  readonly expectedMetadataVersion?: number | null;
}

export class DeleteGroupDto extends FenceMemberDto implements DeleteGroupBody {
  @Flag({
    description: 'Delete although members are live: they are told 404.',
    example: false,
    optional: true,
  })
  readonly force?: boolean | null;

  @Flag({
    description:
      'Delete the streams of all shards, too, with all entries. Refused while another group reads them.',
    example: false,
    optional: true,
  })
  readonly purgeStreams?: boolean | null;
}
