import { Redis } from 'ioredis';
import { groupKeyText } from '../../src/domain/ids';
import { clientOptions } from '../../src/redis/client-options';
import { FaultLog } from '../../src/redis/fault-log';
import { readLuaCatalog } from '../../src/redis/lua-catalog';
import { LuaRunner } from '../../src/redis/lua-runner';
import { NoticeSubscriber } from '../../src/redis/notice-subscriber';
import { RedisCommands } from '../../src/redis/redis-commands';
import type { RedisOptions } from '../../src/redis/redis-options';
import { CoordinatorKeys } from '../../src/store/redis/coordinator-keys';
import { RedisGroupIndex, RedisLoopStore } from '../../src/store/redis/redis-group-index';
import { RedisMetadataStore } from '../../src/store/redis/redis-metadata-store';
import { RedisNoticeBus } from '../../src/store/redis/redis-notice-bus';
import { RedisStreamProvisioner } from '../../src/store/redis/redis-stream-provisioner';
import { RedisStreamRegistry } from '../../src/store/redis/redis-stream-registry';
import { REDIS_ID } from './group-fixtures';
import { waitUntil, type RedisServer } from '../support/redis-server';
import type { StoreHarness } from './store-harness';

const READY_DEADLINE_MS = 5_000;
let lastHarness = 0;

/** Clients as the coordinator makes them, without Nest. */
export interface RedisAccess {
  readonly client: Redis;
  readonly noticesClient: Redis;
  readonly commands: RedisCommands;
  readonly lua: LuaRunner;
  readonly subscriber: NoticeSubscriber;
  readonly faults: object[];
  close(): void;
}

export async function redisAccess(url: string, parts: Partial<RedisOptions> = {}): Promise<RedisAccess> {
  const faults: object[] = [];
  const newOptions = (): ReturnType<typeof clientOptions> =>
    clientOptions({
      url,
      clientName: 'test',
      keyPrefix: 'test',
      commandTimeoutMs: 2_000,
      connectTimeoutMs: 2_000,
      logger: { warn: (fields) => faults.push(fields) },
      ...parts,
    });
  const faultLog = new FaultLog({ warn: (fields) => faults.push(fields) });
  const client = new Redis(url, newOptions());
  const noticesClient = new Redis(url, newOptions());
  const commands = new RedisCommands(client, faultLog);
  const subscriber = new NoticeSubscriber(noticesClient, faultLog);
  const areReady = (): boolean => [client, noticesClient].every(({ status }) => status === 'ready');
  await waitUntil('connected', READY_DEADLINE_MS, areReady);
  return {
    client,
    noticesClient,
    commands,
    lua: new LuaRunner(commands, readLuaCatalog()),
    subscriber,
    faults,
    close: () => {
      subscriber.close();
      client.disconnect();
      noticesClient.disconnect();
    },
  };
}

/** Says of any Redis that it is the one that the fixtures were written to, until it is told otherwise. */
export class FixedIdentity {
  current: string = REDIS_ID;
  async read(): Promise<string> {
    return this.current;
  }
  forget(): void {
    // Known for good.
  }
  learn(): void {
    // Told by the test only.
  }
}

/** Redis adapters under a key prefix that nobody else uses. */
export async function redisHarness(server: RedisServer): Promise<StoreHarness> {
  const access = await redisAccess(server.url);
  const { client, commands, lua, subscriber } = access;
  lastHarness += 1;
  const keys = new CoordinatorKeys(`contract-${lastHarness}`);
  const identity = new FixedIdentity();
  const nowMs = async (): Promise<number> => {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  };
  return {
    store: new RedisMetadataStore(lua, commands, keys, identity),
    index: new RedisGroupIndex(lua, commands, keys),
    loop: new RedisLoopStore(lua, commands, keys, identity),
    registry: new RedisStreamRegistry(lua, commands, keys),
    provisioner: new RedisStreamProvisioner(commands),
    notices: new RedisNoticeBus(subscriber, keys),
    nowMs,
    passTime: async (ms) => {
      const endMs = (await nowMs()) + ms;
      await waitUntil('time passes', ms + READY_DEADLINE_MS, async () => (await nowMs()) >= endMs);
    },
    tamper: async (key, field, value) => {
      if (value === null) await client.hdel(keys.metadata(key), field);
      else await client.hset(keys.metadata(key), field, value);
    },
    tamperLease: async (key, memberId, text) => {
      if (text === null) await client.hdel(keys.metadata(key), `lease:${memberId}`);
      else await client.hset(keys.metadata(key), `lease:${memberId}`, text);
    },
    misplace: async (key) => {
      await client.set(keys.metadata(key), 'none of ours');
    },
    dump: async (key) => {
      const type = await client.type(keys.metadata(key));
      if (type !== 'hash' && type !== 'none') return `${type}: ${await client.get(keys.metadata(key))}`;
      const fields = Object.entries(await client.hgetall(keys.metadata(key)));
      return fields.length === 0 ? null : JSON.stringify(fields.sort());
    },
    addIndexEntry: async (text, dueMs) => {
      await client.zadd(keys.index, dueMs, text);
    },
    dropIndex: async () => {
      await client.del(keys.index);
    },
    misplaceIndex: async () => {
      await client.set(keys.index, 'none of ours');
    },
    dueOf: async (key) => {
      const score = await client.zscore(keys.index, groupKeyText(key));
      return score === null ? null : Number(score);
    },
    setLastPass: async (ms) => {
      await client.hset(keys.loop, 'lastPassMs', ms);
    },
    setLastRedis: async (redisId) => {
      await client.hset(keys.loop, 'redisId', redisId);
    },
    setRedisId: (redisId) => {
      identity.current = redisId;
    },
    close: async () => access.close(),
  };
}
