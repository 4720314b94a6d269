import { parseConsumerGroup } from '../../domain/ids';
import type { LuaRunner } from '../../redis/lua-runner';
import type { RedisCommands } from '../../redis/redis-commands';
import type { StreamRecord, StreamRegistry } from '../group-index';
import { readInteger, readList } from '../strict-json';
import type { CoordinatorKeys } from './coordinator-keys';
import { listOf } from './script-replies';
import { asStoreCall, unexpectedReply } from './store-errors';

export class RedisStreamRegistry implements StreamRegistry {
  constructor(
    private readonly lua: LuaRunner,
    private readonly commands: RedisCommands,
    private readonly keys: CoordinatorKeys,
  ) {}

  async load(streamPrefix: string): Promise<StreamRecord | null> {
    const operation = 'load stream record';
    const key = this.keys.streamRecord(streamPrefix);
    const fields = ['revision', 'shardCount', 'consumerGroups'];
    const reply = await asStoreCall(operation, () => this.commands.call(operation, 'HMGET', key, ...fields));
    const values = listOf(operation, reply);
    if (values.every((value) => value === null)) return null;
    const record = readRecord(values);
    if (record === null) throw unexpectedReply(operation, values);
    return record;
  }

  async save(
    streamPrefix: string,
    base: number | null,
    next: Omit<StreamRecord, 'revision'>,
  ): Promise<boolean> {
    const groups = next.consumerGroups.length === 0 ? '' : JSON.stringify(next.consumerGroups);
    const written = await asStoreCall('save stream record', () =>
      this.lua.run(
        'group/save-stream-record',
        [this.keys.streamRecord(streamPrefix)],
        [base ?? '', next.shardCount, groups],
      ),
    );
    return written === 1;
  }
}

/** null when a field is missing or is not what `save` writes. */
function readRecord([revision, shardCount, groups]: readonly unknown[]): StreamRecord | null {
  if (typeof revision !== 'string' || typeof shardCount !== 'string' || typeof groups !== 'string')
    return null;
  const revisionNumber = readInteger(revision);
  const count = readInteger(shardCount);
  const consumerGroups = readConsumerGroups(groups);
  if (revisionNumber === null || count === null || consumerGroups === null) return null;
  return { revision: revisionNumber, shardCount: count, consumerGroups };
}

function readConsumerGroups(json: string): readonly string[] | null {
  try {
    const names = readList(JSON.parse(json), 'consumerGroups').map((name) =>
      typeof name === 'string' ? parseConsumerGroup(name) : null,
    );
    return names.every((name) => name !== null) ? names : null;
  } catch {
    return null;
  }
}
