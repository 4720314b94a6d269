import { INSTANCE_ID_MAX_LENGTH, MEMBER_ID_PATTERN } from '../domain/ids';
import { LEAVE_EPOCH, REVOKE_STATES } from '../protocol';
import type { HeartbeatBody, RevokeState } from '../protocol';
import { CompiledRules } from '../http/validation/dto-pipe';
import { RuntimeConsumerCapacityDto, ShardIdDto, ShardProgressDto } from '../http/member-report.dto';
import {
  Instant,
  Integer,
  Name,
  NestedList,
  NestedObject,
  OneOf,
  Text,
} from '../http/validation/field-rules';

/** Twice the most shards there may be: harmless repeats are accepted, a flood is not. */
const MAX_LISTED_SHARDS = 32_768;
const MAX_NAME_LENGTH = 200;

export class RevokingShardDto {
  @NestedObject({ description: 'The shard that is given up.', of: () => ShardIdDto })
  readonly shard!: ShardIdDto;

  @OneOf({
    description: 'How far it is. Only REVOKED with nothing in flight releases the shard.',
    example: 'DRAINING',
    values: REVOKE_STATES,
  })
  readonly state!: RevokeState;

  @Integer({ description: 'Entries whose handler still runs.', example: 0 })
  readonly inFlight!: number;

  @Instant({
    description: 'When the last entry was acked; for display.',
    example: 1700000000000,
    optional: true,
  })
  readonly ackedAt?: number | string | null;
}

/** A heartbeat. Unknown fields are ignored; a client that sends only the fields without `optional` works. */
@CompiledRules()
export class HeartbeatDto implements HeartbeatBody {
  @Integer({ description: 'Version of the coordination protocol that the client speaks.', example: 1 })
  readonly protocolVersion!: number;

  @Text({ description: 'Comes back as responseTo.', example: 'hb-42', max: 200 })
  readonly requestId!: string;

  @Name({ description: 'The same as in the path.', example: 'worker-1-m0', pattern: MEMBER_ID_PATTERN })
  readonly memberId!: string;

  @Text({ description: 'For display.', example: 'worker 1', max: MAX_NAME_LENGTH, min: 0, optional: true })
  readonly memberName?: string | null;

  @Integer({
    description: '0 joins, -1 leaves, above 0: the epoch of the running tenure.',
    example: 0,
    min: LEAVE_EPOCH,
  })
  readonly memberEpoch!: number;

  @Integer({
    description: 'Version of the view that this report is about; 0 before the first answer.',
    example: 0,
  })
  readonly metadataVersion!: number;

  @NestedObject({ description: 'How much this member can do at once.', of: () => RuntimeConsumerCapacityDto })
  readonly runtimeConsumerCapacity!: RuntimeConsumerCapacityDto;

  @NestedList({
    description: 'Shards that are read. Absent or null is no news; an empty list says that nothing is owned.',
    of: () => ShardIdDto,
    maxItems: MAX_LISTED_SHARDS,
    optional: true,
  })
  readonly ownedShards?: readonly ShardIdDto[] | null;

  @NestedList({
    description:
      'Shards that are being given up. A shard is not owned and revoking at once, and has one state.',
    of: () => RevokingShardDto,
    maxItems: MAX_LISTED_SHARDS,
    optional: true,
  })
  readonly revokingShards?: readonly RevokingShardDto[] | null;

  @NestedList({
    description: 'Progress, for monitoring.',
    of: () => ShardProgressDto,
    maxItems: MAX_LISTED_SHARDS,
    optional: true,
  })
  readonly shardProgress?: readonly ShardProgressDto[] | null;

  @Text({
    description: 'Random id of this tenure: new for each join, the same on its retries.',
    example: '5f8a1c1e-6a4f-4d1c-9a3f-0d7f2f0c9b11',
    max: INSTANCE_ID_MAX_LENGTH,
    optional: true,
  })
  readonly instanceId?: string | null;

  @Integer({
    description: 'With a join or leave: the epoch of the tenure that this process ended before.',
    example: 1700000000100,
    optional: true,
  })
  readonly previousEpoch?: number | null;

  @Integer({
    description: 'Highest metadataVersion that this process ever saw.',
    example: 1700000000123,
    optional: true,
  })
  readonly maxObservedVersion?: number | null;

  @Integer({
    description:
      'Long poll: hold the answer until the view of this member changes, at most this long (clamped to the heartbeat interval), ms.',
    example: 3000,
    optional: true,
  })
  readonly waitMs?: number | null;
}
