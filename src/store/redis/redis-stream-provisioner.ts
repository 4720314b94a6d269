import type { ConsumerGroup, StreamPrefix } from '../../domain/ids';
import { streamKey } from '../../domain/routing/shard-keys';
import type { RedisCommandLine, RedisCommands } from '../../redis/redis-commands';
import { isReply, messageOf, RedisFaultError } from '../../redis/redis-fault';
import { ProvisioningError, type StreamProvisioner } from '../stream-provisioner';

/** Commands sent before their answers are awaited: Redis serves others in between. */
const PIPELINE_COMMANDS = 256;
const GROUP_EXISTS = /^BUSYGROUP/;
const WRONG_TYPE = /^WRONGTYPE/;

export class RedisStreamProvisioner implements StreamProvisioner {
  constructor(private readonly commands: RedisCommands) {}

  async provision(
    streamPrefix: StreamPrefix,
    shardCount: number,
    consumerGroup: ConsumerGroup,
  ): Promise<void> {
    await this.forEachShard('provision streams', streamPrefix, shardCount, (key) => [
      'XGROUP',
      'CREATE',
      key,
      consumerGroup,
      '0', // from the first entry: nothing that was published before the group existed is passed over
      'MKSTREAM',
    ]);
  }

  async purge(streamPrefix: StreamPrefix, shardCount: number): Promise<void> {
    await this.forEachShard('purge streams', streamPrefix, shardCount, (key) => ['DEL', key]);
  }

  private async forEachShard(
    operation: string,
    streamPrefix: StreamPrefix,
    shardCount: number,
    commandOf: (key: string) => RedisCommandLine,
  ): Promise<void> {
    for (let first = 0; first < shardCount; first += PIPELINE_COMMANDS) {
      const count = Math.min(PIPELINE_COMMANDS, shardCount - first);
      const lines = Array.from({ length: count }, (_, offset) =>
        commandOf(streamKey(streamPrefix, first + offset)),
      );
      const failure = await this.firstFailure(operation, lines);
      if (failure !== null) throw provisioningError(streamPrefix, failure);
    }
  }

  private async firstFailure(
    operation: string,
    lines: readonly RedisCommandLine[],
  ): Promise<RedisFaultError | null> {
    try {
      for (const reply of await this.commands.pipeline(operation, lines)) {
        if ('error' in reply && !GROUP_EXISTS.test(replyText(reply.error))) return reply.error;
      }
      return null;
    } catch (error) {
      if (error instanceof RedisFaultError) return error;
      throw error;
    }
  }
}

function provisioningError(streamPrefix: StreamPrefix, failure: RedisFaultError): ProvisioningError {
  const reason = WRONG_TYPE.test(replyText(failure)) ? 'a key of that name is no stream' : failure.fault;
  return new ProvisioningError(streamPrefix, reason, failure.retryable, { cause: failure });
}

/** What Redis itself answered; empty when it did not. */
function replyText(failure: RedisFaultError): string {
  return isReply(failure.cause) ? messageOf(failure.cause) : '';
}
