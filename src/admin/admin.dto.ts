import { ApiProperty } from '@nestjs/swagger';
import { SHARD_COUNT_CEILING } from '../config/options';
import { CONSUMER_GROUP_PATTERN } from '../domain/ids';
import { AnyObject, Flag, Integer, Name, Text } from '../http/validation/field-rules';
import type { GROUP_DOCUMENT_FORMAT, GroupDocument } from '../store/group-document';
import type {
  CreateBody,
  CreatedStream,
  CreateStreamBody,
  DeleteGroupBody,
  FenceMemberBody,
  RepairedIndex,
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

export class RepairIndexDto {
  @Text(REQUESTED_BY)
  readonly requestedBy!: string;

  @Text(REASON)
  readonly reason!: string;
}

export class RestoreGroupDto extends RepairIndexDto {
  @AnyObject({
    description: 'What GET .../metadata answered, as it was.',
    example: { format: 'redis-stream-coordinator/group/1' },
  })
  readonly document!: Readonly<Record<string, unknown>>;
}

export class RepairedIndexDto implements RepairedIndex {
  @ApiProperty({ type: 'integer', description: 'Groups that were missing in the index.', example: 0 })
  readonly added!: number;
}

/** A group as it is exported. Its form is that of the stored one: keep it, do not read it. */
export class GroupDocumentDto implements GroupDocument {
  @ApiProperty({ example: 'redis-stream-coordinator/group/1' })
  readonly format!: typeof GROUP_DOCUMENT_FORMAT;

  @ApiProperty({ example: 'orders' })
  readonly streamPrefix!: string;

  @ApiProperty({ example: 'orders-consumer' })
  readonly consumerGroup!: string;

  @ApiProperty({ type: 'integer', description: 'The Redis clock at the export, ms.', example: 1700000000123 })
  readonly exportedAtMs!: number;

  @ApiProperty({ example: '1' })
  readonly schemaVersion!: string;

  @ApiProperty({ example: '1' })
  readonly layoutVersion!: string;

  @ApiProperty({ type: 'integer', example: 1700000000042 })
  readonly revision!: number;

  @ApiProperty({ example: 'b2f1c7de-0d61-4a63-9a1f-7f1b0f7f9c11' })
  readonly writeId!: string;

  @ApiProperty({ type: 'integer', example: 1700000000123 })
  readonly metadataVersion!: number;

  @ApiProperty({ type: 'integer', description: 'Of the last write, ms.', example: 1700000000123 })
  readonly updatedAtMs!: number;

  @ApiProperty({ description: 'Which Redis took it: run id and replication id.', example: '3f0c…/9a1b…' })
  readonly redisId!: string;

  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  readonly leases!: GroupDocument['leases'];

  @ApiProperty({ type: 'object', additionalProperties: true, example: { shardCount: 4 } })
  readonly aggregate!: unknown;
}
