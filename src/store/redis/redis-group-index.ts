import { assertInvariant } from '../../domain/assert';
import { groupKeyText, parseGroupKeyText, type GroupKey } from '../../domain/ids';
import { epochMillis, type EpochMillis } from '../../domain/time';
import type { LuaRunner } from '../../redis/lua-runner';
import type { RedisCommands } from '../../redis/redis-commands';
import { isReply, messageOf, RedisFaultError } from '../../redis/redis-fault';
import type { GroupIndex, LoopPass, LoopStore } from '../group-index';
import { pageOf, type IndexPage } from '../index-page';
import type { RedisIdentity } from '../../redis/redis-identity';
import type { CoordinatorKeys } from './coordinator-keys';
import { listOf, textsFrom } from './script-replies';
import { asStoreCall, identifiedCall } from './store-errors';

/** Keys that one step of a scan looks at. */
const SCAN_COUNT = 1_000;
/** A billion keys; what is not found by then is not found. */
const MAX_SCAN_STEPS = 1_000_000;
const WRONG_TYPE = /^WRONGTYPE/;

export class RedisGroupIndex implements GroupIndex {
  constructor(
    private readonly lua: LuaRunner,
    private readonly commands: RedisCommands,
    private readonly keys: CoordinatorKeys,
  ) {}

  async bringForward(key: GroupKey, dueMs: EpochMillis): Promise<void> {
    await this.call('bring group forward', 'ZADD', this.keys.index, 'LT', dueMs, groupKeyText(key));
  }

  async postpone(key: GroupKey, seenDueMs: EpochMillis, dueMs: EpochMillis): Promise<void> {
    await asStoreCall('postpone group', () =>
      this.lua.run('loop/postpone', [this.keys.index], [groupKeyText(key), seenDueMs, dueMs]),
    );
  }

  async remove(key: GroupKey): Promise<void> {
    await this.call('remove group from index', 'ZREM', this.keys.index, groupKeyText(key));
  }

  /** Reads the whole index for each page (some 50 bytes per group): due times move all the time, names do not. */
  async list(cursor: string | null, limit: number): Promise<IndexPage> {
    const operation = 'list groups';
    const texts = listOf(operation, await this.call(operation, 'ZRANGE', this.keys.index, 0, -1));
    return pageOf(textsFrom(texts, 0), cursor, limit);
  }

  async repair(): Promise<number> {
    const operation = 'repair index';
    await this.dropForeignIndex(operation);
    let cursor = '0';
    let added = 0;
    for (let step = 0; step < MAX_SCAN_STEPS; step += 1) {
      const pattern = this.keys.metadataPattern;
      const page = await this.call(operation, 'SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
      const [next, found] = listOf(operation, page);
      added += await this.addMissing(textsFrom(listOf(operation, found), 0));
      cursor = String(next);
      if (cursor === '0') break;
    }
    return added;
  }

  /** What lies under the name of the index and is no sorted set says nothing about any group. */
  private async dropForeignIndex(operation: string): Promise<void> {
    const { index } = this.keys;
    try {
      await this.commands.call(operation, 'ZRANGE', index, 0, 0);
    } catch (error) {
      if (isWrongType(error)) await this.call(operation, 'DEL', index);
      // Whatever else is wrong is told by the calls that follow.
    }
  }

  /** Due at once: nobody knows when they were due. */
  private async addMissing(metadataKeys: readonly string[]): Promise<number> {
    const entries = metadataKeys.flatMap((text) => {
      const key = this.keys.groupOfMetadataKey(text);
      return key === null ? [] : [0, groupKeyText(key)];
    });
    if (entries.length === 0) return 0;
    return Number(await this.call('repair index', 'ZADD', this.keys.index, 'NX', ...entries));
  }

  private async call(operation: string, command: string, ...args: (string | number)[]): Promise<unknown> {
    return asStoreCall(operation, () => this.commands.call(operation, command, ...args));
  }
}

function isWrongType(error: unknown): boolean {
  return error instanceof RedisFaultError && isReply(error.cause) && WRONG_TYPE.test(messageOf(error.cause));
}

export class RedisLoopStore implements LoopStore {
  constructor(
    private readonly lua: LuaRunner,
    private readonly commands: RedisCommands,
    private readonly keys: CoordinatorKeys,
    private readonly identity: Pick<RedisIdentity, 'current' | 'read' | 'forget' | 'learn'>,
  ) {}

  async pass(request: Parameters<LoopStore['pass']>[0]): Promise<LoopPass> {
    const operation = 'pass';
    const { coordinatorId, outageAfterMs, leaseTtlMs, clockJumped, hasPassed, limit } = request;
    assertInvariant(Number.isSafeInteger(limit) && limit >= 0, 'a pass asks for a number of groups');
    const flags = [clockJumped ? 1 : 0, limit, hasPassed ? 1 : 0];
    const { reply } = await identifiedCall(operation, this.identity, () =>
      this.lua.run(
        'loop/pass',
        [this.keys.loop, this.keys.index],
        [coordinatorId, outageAfterMs, leaseTtlMs, ...flags],
      ),
    );
    const [now = '', redisId = '', causedAt = '', until = '', ...due] = textsFrom(
      listOf(operation, reply),
      0,
    );
    // A Redis may get another identity while its connections last.
    this.identity.learn(redisId);
    const quiet =
      causedAt === '' || until === ''
        ? null
        : { causedAtMs: epochMillis(Number(causedAt)), untilMs: epochMillis(Number(until)) };
    return { redisNowMs: epochMillis(Number(now)), quiet, due: dueGroups(due) };
  }

  async lossSeen(): ReturnType<LoopStore['lossSeen']> {
    const operation = 'read the loop record';
    const reply = await asStoreCall(operation, () =>
      this.commands.call(operation, 'HMGET', this.keys.loop, 'lastPassMs', 'lossUntilMs'),
    );
    const [lastPass, lossUntil] = listOf(operation, reply);
    return { isRecordMissing: readInstant(lastPass) === null, untilMs: readInstant(lossUntil) };
  }
}

/** null: never. */
function readInstant(text: unknown): EpochMillis | null {
  return typeof text === 'string' && /^\d+$/.test(text) ? epochMillis(Number(text)) : null;
}

/** Entries that name no group are skipped: they are not ours. */
function dueGroups(flat: readonly string[]): LoopPass['due'] {
  const due: { key: GroupKey; dueMs: EpochMillis }[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const key = parseGroupKeyText(flat[index] ?? '');
    if (key !== null) due.push({ key, dueMs: epochMillis(Number(flat[index + 1])) });
  }
  return due;
}
