import { parseConsumerGroup } from '../../domain/ids';
import type { EpochMillis } from '../../domain/time';
import type { LuaRunner } from '../../redis/lua-runner';
import type { RedisCommands } from '../../redis/redis-commands';
import type { NextStreamRecord, StreamRecord, StreamRegistry } from '../group-index';
import { readCount, readInteger, readList, readObject } from '../strict-json';
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
    const fields = ['revision', 'shardCount', 'consumerGroups', 'formerLives'];
    const reply = await asStoreCall(operation, () => this.commands.call(operation, 'HMGET', key, ...fields));
    const values = listOf(operation, reply);
    if (values.every((value) => value === null)) return null;
    const record = readRecord(values);
    if (record === null) throw unexpectedReply(operation, values);
    return record;
  }

  async save(streamPrefix: string, base: number | null, next: NextStreamRecord): Promise<boolean> {
    const formerLives = Object.fromEntries(next.formerLives ?? []);
    const isEmpty = next.consumerGroups.length === 0 && Object.keys(formerLives).length === 0;
    const groups = isEmpty ? '' : JSON.stringify(next.consumerGroups);
    const written = await asStoreCall('save stream record', () =>
      this.lua.run(
        'group/save-stream-record',
        [this.keys.streamRecord(streamPrefix)],
        [base ?? '', next.shardCount, groups, JSON.stringify(formerLives)],
      ),
    );
    return written === 1;
  }
}

/** null when a field is missing or is not what `save` writes. */
function readRecord(values: readonly unknown[]): StreamRecord | null {
  if (!values.every((value) => typeof value === 'string')) return null;
  const [revisionText = '', shardCountText = '', groupsText = '', livesText = ''] = values;
  const revision = readInteger(revisionText);
  const shardCount = readInteger(shardCountText);
  const consumerGroups = readConsumerGroups(groupsText);
  const formerLives = readFormerLives(livesText);
  if (revision === null || shardCount === null || consumerGroups === null || formerLives === null)
    return null;
  return { revision, shardCount, consumerGroups, formerLives };
}

function readFormerLives(json: string): StreamRecord['formerLives'] | null {
  try {
    const value: unknown = JSON.parse(json);
    const names = Object.keys(value as object);
    const ends = readObject(value, 'formerLives', names);
    return new Map(names.map((name) => [name, readCount(ends[name], name) as EpochMillis]));
  } catch {
    return null;
  }
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
