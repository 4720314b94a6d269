import { CONSUMER_GROUP_PATTERN, MEMBER_ID_PATTERN, STREAM_PREFIX_PATTERN } from '../domain/ids';
import type { ConsumerGroup, GroupKey, MemberId, StreamPrefix } from '../domain/ids';
import { CompiledRules } from './validation/dto-pipe';
import { Name } from './validation/field-rules';

/** The names in a route, checked before anything else is looked at. */
@CompiledRules()
export class StreamPathDto {
  @Name({ description: 'Name of the sharded stream.', example: 'orders', pattern: STREAM_PREFIX_PATTERN })
  readonly streamPrefix!: StreamPrefix;
}

@CompiledRules()
export class GroupPathDto extends StreamPathDto {
  @Name({
    description: 'Name of the consumer group.',
    example: 'orders-consumer',
    pattern: CONSUMER_GROUP_PATTERN,
  })
  readonly consumerGroup!: ConsumerGroup;
}

@CompiledRules()
export class MemberPathDto extends GroupPathDto {
  @Name({ description: 'One logical consumer.', example: 'worker-1-m0', pattern: MEMBER_ID_PATTERN })
  readonly memberId!: MemberId;
}

export function groupKeyOf({ streamPrefix, consumerGroup }: GroupPathDto): GroupKey {
  return { streamPrefix, consumerGroup };
}
