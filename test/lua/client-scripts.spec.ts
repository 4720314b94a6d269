import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { CLIENT_SCRIPTS, runClientScript } from '../../src/client/redis/client-scripts';
import type { ClientScriptName } from '../../src/client/redis/client-scripts';
import { startRedisServer } from '../support/redis-server';
import type { RedisServer } from '../support/redis-server';

const FOLDER = join(__dirname, '..', '..', 'lua', 'client');
const NAMES = Object.keys(CLIENT_SCRIPTS) as ClientScriptName[];
const STREAM = 'orders:0';
const LETTERS = '{orders:0}:dlq';

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.port);
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await redis.config('SET', 'maxmemory', '0');
  await redis.flushall();
  await redis.xgroup('CREATE', STREAM, 'g', '0', 'MKSTREAM');
});

/** Adds an entry and delivers it to this consumer. */
async function delivered(consumer: string, ...fields: string[]): Promise<string> {
  const id = (await redis.xadd(STREAM, '*', ...fields)) ?? '';
  await redis.xreadgroup('GROUP', 'g', consumer, 'COUNT', 1, 'STREAMS', STREAM, '>');
  return id;
}

const move = async (id: string, consumer = 'c1', error = 'Error: no'): Promise<unknown> =>
  runClientScript(
    redis,
    'move-to-dead-letter',
    [STREAM, LETTERS],
    ['g', consumer, id, 'NON_RETRYABLE', error, 3],
  );

const pendingIds = async (): Promise<string[]> =>
  ((await redis.xpending(STREAM, 'g', '-', '+', 10)) as [string][]).map(([id]) => id);

describe('the scripts of the SDK', () => {
  it('are those of the catalog, and no others', () => {
    expect(readdirSync(FOLDER).sort()).toEqual(NAMES.map((name) => `${name}.lua`).sort());
  });

  it.each(NAMES)(
    'have in %s a header that numbers every key and argument as the catalog counts them',
    (name) => {
      const [header = '', ...body] = readFileSync(join(FOLDER, `${name}.lua`), 'utf8').split('\n\n');
      const counted = (kind: string): number[] =>
        [...header.matchAll(new RegExp(`^-- ${kind}\\[(\\d+)\\]`, 'gm'))].map((match) => Number(match[1]));
      const used = (kind: string): number =>
        Math.max(
          ...[...body.join('\n\n').matchAll(new RegExp(`${kind}\\[(\\d+)`, 'g'))].map((m) => Number(m[1])),
        );
      const { keyCount, argumentCount } = CLIENT_SCRIPTS[name];
      expect(counted('KEYS')).toEqual(Array.from({ length: keyCount }, (_, index) => index + 1));
      expect(counted('ARGV')).toEqual(Array.from({ length: argumentCount }, (_, index) => index + 1));
      expect([used('KEYS'), used('ARGV')]).toEqual([keyCount, argumentCount]);
      expect(header).toMatch(/^-- Returns /m);
      expect(header).toMatch(/^-- Atomic because /m);
    },
  );

  it('are loaded again after Redis forgot them', async () => {
    const id = await delivered('c1', 'a', '1');
    await redis.script('FLUSH');
    expect(await move(id)).toBe(1);
  });
});

describe('move-to-dead-letter', () => {
  it('moves an entry with what is known of its failure, and acknowledges it', async () => {
    const id = await delivered('c1', 'error', 'mine', 'payload', '\u00fc');
    expect(await move(id)).toBe(1);
    const [letter] = await redis.xrange(LETTERS, '-', '+');
    expect(letter?.[1]).toEqual([
      ...['originalId', id, 'originalStream', STREAM, 'consumerGroup', 'g', 'reason', 'NON_RETRYABLE'],
      ...['error', 'Error: no', 'deliveryCount', '3', 'error', 'mine', 'payload', '\u00fc'],
    ]);
    expect(await pendingIds()).toEqual([]);
  });

  it('moves it once, however often it is asked', async () => {
    const id = await delivered('c1', 'a', '1');
    expect([await move(id), await move(id)]).toEqual([1, 0]);
    expect(await redis.xlen(LETTERS)).toBe(1);
  });

  it('leaves alone what another consumer took over', async () => {
    const id = await delivered('c2', 'a', '1');
    expect(await move(id, 'c1')).toBe(-1);
    expect(await pendingIds()).toEqual([id]);
    expect(await redis.exists(LETTERS)).toBe(0);
  });

  it('acknowledges an entry that was deleted while it was pending', async () => {
    const id = await delivered('c1', 'a', '1');
    await redis.xdel(STREAM, id);
    expect(await move(id)).toBe(2);
    expect(await pendingIds()).toEqual([]);
    expect(await redis.exists(LETTERS)).toBe(0);
  });

  it('keeps the entry pending when Redis refuses the dead letter: out of memory', async () => {
    const id = await delivered('c1', 'a', '1');
    await redis.config('SET', 'maxmemory', '1');
    await expect(move(id)).rejects.toThrow(/OOM/);
    expect(await pendingIds()).toEqual([id]);
  });

  it('keeps the entry pending when Redis refuses the dead letter: a key of another type', async () => {
    const id = await delivered('c1', 'a', '1');
    await redis.set(LETTERS, 'text');
    await expect(move(id)).rejects.toThrow(/WRONGTYPE/);
    expect(await pendingIds()).toEqual([id]);
  });

  it('moves an entry of more fields than Lua can pass on', async () => {
    const fields = Array.from({ length: 9_000 }, (_, index) => `f${index}`);
    const id = await delivered('c1', ...fields);
    expect(await move(id)).toBe(1);
    const [letter] = await redis.xrange(LETTERS, '-', '+');
    expect(JSON.parse(letter?.[1].at(-1) ?? '')).toEqual(fields);
  });
});

describe('remove-consumer', () => {
  const remove = async (consumer: string): Promise<unknown> =>
    runClientScript(redis, 'remove-consumer', [STREAM], ['g', consumer]);

  it('keeps a consumer under which an entry is pending', async () => {
    const id = await delivered('c1', 'a', '1');
    expect(await remove('c1')).toBe(0);
    expect(await pendingIds()).toEqual([id]);
  });

  it('removes one under which nothing is pending, and takes one that does not exist as removed', async () => {
    const id = await delivered('c1', 'a', '1');
    await redis.xack(STREAM, 'g', id);
    expect([await remove('c1'), await remove('nobody')]).toEqual([1, 1]);
    expect(await redis.xinfo('CONSUMERS', STREAM, 'g')).toEqual([]);
  });
});
