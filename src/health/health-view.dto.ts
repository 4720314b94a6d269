import { ApiProperty } from '@nestjs/swagger';
import type { HealthStatusName, HealthView } from '../protocol';

export class RedisHealthDto {
  @ApiProperty({ description: 'Whether the last probe wrote to Redis and read it back.', example: true })
  readonly isReady!: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Why not.', example: null })
  readonly fault!: string | null;

  @ApiProperty({
    type: [String],
    description: 'Commands that the ACL of Redis does not permit.',
    example: [],
  })
  readonly missingCommands!: readonly string[];
}

export class LoopHealthDto {
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Redis clock of the last pass of this event loop, ms.',
    example: 1700000000000,
  })
  readonly lastPassMs!: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'End of the quiet period in which nobody is expired, ms.',
    example: null,
  })
  readonly quietUntilMs!: number | null;
}

export class HealthViewDto implements HealthView {
  @ApiProperty({
    enum: ['UP', 'DEGRADED', 'DOWN'],
    description:
      'DOWN: Redis cannot be written, or this coordinator terminates. DEGRADED: the ACL lacks commands, or the event loop stands.',
    example: 'UP',
  })
  readonly status!: HealthStatusName;

  @ApiProperty({ example: 'coordinator-1' })
  readonly coordinatorId!: string;

  @ApiProperty({ type: RedisHealthDto })
  readonly redis!: RedisHealthDto;

  @ApiProperty({ type: LoopHealthDto })
  readonly loop!: LoopHealthDto;
}
