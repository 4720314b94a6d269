import { ApiProperty } from '@nestjs/swagger';
import { CONSUMER_GROUP_PATTERN, STREAM_PREFIX_PATTERN } from '../domain/ids';
import { GroupViewDto } from '../http/group.view';
import { Name, OneOf, QueryInteger, Text } from '../http/validation/field-rules';
import type { CompatibilityView, ErrorCode, GroupsPage, GroupStateName, UnreadableGroup } from '../protocol';

export const GROUP_STATES = ['EMPTY', 'ASSIGNING', 'RECONCILING', 'STABLE'] as const;
export const MAX_PAGE_SIZE = 200;
/** A cursor is the name of a group: `<streamPrefix>:<consumerGroup>`. */
const MAX_CURSOR_LENGTH = 400;

export class GroupsQueryDto {
  @Name({
    description: 'Only groups of this stream.',
    example: 'orders',
    pattern: STREAM_PREFIX_PATTERN,
    optional: true,
  })
  readonly streamPrefix?: string | null;

  @OneOf({
    description: 'Only groups in this state.',
    example: 'STABLE',
    values: GROUP_STATES,
    optional: true,
  })
  readonly state?: GroupStateName | null;

  @QueryInteger({
    description: 'Groups of a page at most (100).',
    example: 50,
    min: 1,
    max: MAX_PAGE_SIZE,
    optional: true,
  })
  readonly limit?: number | null;

  @Text({
    description: 'nextCursor of the page before.',
    example: 'orders:orders-consumer',
    max: MAX_CURSOR_LENGTH,
    optional: true,
  })
  readonly cursor?: string | null;
}

export class UnreadableGroupDto implements UnreadableGroup {
  @ApiProperty({ example: 'orders', pattern: STREAM_PREFIX_PATTERN.source })
  readonly streamPrefix!: string;

  @ApiProperty({ example: 'orders-consumer', pattern: CONSUMER_GROUP_PATTERN.source })
  readonly consumerGroup!: string;

  @ApiProperty({ enum: ['METADATA_CORRUPT', 'METADATA_SCHEMA_UNSUPPORTED'], example: 'METADATA_CORRUPT' })
  readonly errorCode!: ErrorCode;

  @ApiProperty({
    description: 'For people.',
    example: 'the metadata of group orders:orders-consumer cannot be read: the aggregate is no JSON',
  })
  readonly message!: string;
}

export class GroupsPageDto implements GroupsPage {
  @ApiProperty({ type: [GroupViewDto] })
  readonly groups!: readonly GroupViewDto[];

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Pass it as cursor for the next page; null on the last.',
    example: null,
  })
  readonly nextCursor!: string | null;

  @ApiProperty({
    type: [UnreadableGroupDto],
    description: 'Groups whose stored value cannot be read: they need a person.',
  })
  readonly unreadable!: readonly UnreadableGroupDto[];
}

export class CompatibilityDto implements CompatibilityView {
  @ApiProperty({ type: 'integer', example: 1 })
  readonly currentCoordinationVersion!: number;

  @ApiProperty({
    type: 'object',
    properties: { min: { type: 'integer' }, max: { type: 'integer' } },
    required: ['min', 'max'],
    example: { min: 1, max: 1 },
  })
  readonly supportedCoordinationVersions!: { readonly min: number; readonly max: number };

  @ApiProperty({ type: [Number], example: [1] })
  readonly coordinationVersions!: readonly number[];
}
