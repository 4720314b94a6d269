import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StreamPublisher } from '../../src/client/publisher/stream-publisher';
import type { StreamPublisherOptions } from '../../src/client/publisher/publisher-options';
import { shardIndexOf } from '../../src/domain/routing/partitioner';
import { HttpStub } from '../support/http-stub';
import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
  waitUntil,
} from '../support/redis-server';

const SHARD_COUNT = 4;

let redis: RedisServer;
let coordinator: HttpStub;
const publishers: StreamPublisher[] = [];
/** What the routing answers. */
let shardCount: number;
let metadataVersion: number;

async function startWith(options: RedisServerOptions = {}): Promise<void> {
  redis = await startRedisServer(options);
}

async function createStreams(count = SHARD_COUNT): Promise<void> {
  for (let index = 0; index < count; index++) {
    await redis.cli('XGROUP', 'CREATE', `orders:${index}`, 'billing', '0', 'MKSTREAM');
  }
}

function publisherOf(options: Partial<StreamPublisherOptions> = {}): StreamPublisher {
  const names = { streamPrefix: 'orders', consumerGroup: 'billing' };
  const publisher = new StreamPublisher({
    coordinatorUrl: coordinator.url,
    redis: redis.url,
    ...names,
    ...options,
  });
  publishers.push(publisher);
  return publisher;
}

async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    () => new Error('it resolved'),
    (error: unknown) => error as Error,
  );
}

/** Every entry of every shard, as the partition keys that were published. */
async function writtenKeys(): Promise<string[]> {
  const keys: string[] = [];
  for (let index = 0; index < SHARD_COUNT; index++) {
    const entries = (await redis.cli('XRANGE', `orders:${index}`, '-', '+')) as [string, string[]][];
    keys.push(...entries.map(([, fields]) => fields[1] ?? ''));
  }
  return keys;
}

beforeEach(async () => {
  shardCount = SHARD_COUNT;
  metadataVersion = 5;
  coordinator = await HttpStub.start(() => ({
    body: {
      streamPrefix: 'orders',
      consumerGroup: 'billing',
      metadataVersion,
      shardCount,
      streamKeyPattern: 'orders:{shardIndex}',
      shards: Array.from({ length: shardCount }, (_, shardIndex) => ({
        shardIndex,
        streamKey: `orders:${shardIndex}`,
        redisSlot: 0,
      })),
    },
  }));
});

afterEach(async () => {
  redis.thaw();
  for (const publisher of publishers.splice(0)) await publisher.close();
  await coordinator.stop();
  await redis.stop();
});

describe('a publisher on a real Redis', () => {
  it('writes every entry of a batch once, into the shard of its key, in order per key', async () => {
    await startWith();
    await createStreams();
    const items = Array.from({ length: 3_000 }, (_, number) => ({
      key: `customer-${number % 50}`,
      content: { key: `customer-${number % 50}`, number },
    }));
    const outcomes = await publisherOf({ maxInFlight: 200 }).publishBatch(items);
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    let total = 0;
    for (let index = 0; index < SHARD_COUNT; index++) {
      const entries = (await redis.cli('XRANGE', `orders:${index}`, '-', '+')) as [string, string[]][];
      const last = new Map<string, number>();
      for (const [, [, key = '', , number]] of entries) {
        expect(shardIndexOf(key, SHARD_COUNT)).toBe(index);
        expect(Number(number)).toBeGreaterThan(last.get(key) ?? -1);
        last.set(key, Number(number));
      }
      total += entries.length;
    }
    expect(total).toBe(items.length);
  });

  it('never creates a stream: a missing one is looked up once more, then refused', async () => {
    await startWith();
    const failure = await failureOf(publisherOf().publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'STREAM_MISSING', retryable: false });
    expect(await redis.cli('DBSIZE')).toBe(0);
  });

  it('follows a route that changed when its stream is gone', async () => {
    await startWith();
    await createStreams();
    const publisher = publisherOf();
    const key = ['a', 'b', 'c', 'd', 'e', 'f'].find(
      (candidate) => shardIndexOf(candidate, SHARD_COUNT) === 3,
    )!;
    await publisher.publish(key, 'x');
    await redis.cli('DEL', 'orders:3');
    [shardCount, metadataVersion] = [3, 6];
    expect((await publisher.publish(key, 'x')).shardIndex).toBe(shardIndexOf(key, 3));
    expect(await redis.cli('EXISTS', 'orders:3')).toBe(0);
  });

  it('keeps binary payloads as they are', async () => {
    await startWith();
    await createStreams();
    const { streamKey } = await publisherOf().publish('a', Buffer.from([0, 1, 2]));
    const [[, fields]] = (await redis.cli('XRANGE', streamKey, '-', '+')) as [[string, string[]]];
    expect(fields).toEqual(['payload', '\u0000\u0001\u0002']);
  });

  it('keeps texts and binary payloads apart that leave together', async () => {
    await startWith();
    await createStreams();
    const contents = ['first', Buffer.from([0xe9, 0]), 'dritté 한글', Buffer.from('fourth'), 'fifth'];
    const outcomes = await publisherOf().publishBatch(contents.map((content) => ({ key: 'a', content })));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    const streamKey = `orders:${shardIndexOf('a', SHARD_COUNT)}`;
    const entries = (await redis.cli('XRANGE', streamKey, '-', '+')) as [string, string[]][];
    const expected = contents.map((content) => Buffer.from(content).toString('utf8'));
    expect(entries.map(([, fields]) => fields[1])).toEqual(expected);
  });

  it('trims only when told to', async () => {
    await startWith({ config: ['stream-node-max-entries 10'] });
    await createStreams();
    for (const [publisher, most, least] of [
      [publisherOf({ dangerouslyTrimToApproximately: 20 }), 40, 20],
      [publisherOf(), 1_000, 300],
    ] as const) {
      await publisher.publishBatch(Array.from({ length: 300 }, () => ({ key: 'a', content: 'x' })));
      const length = await redis.cli('XLEN', `orders:${shardIndexOf('a', SHARD_COUNT)}`);
      expect(length).toBeLessThanOrEqual(most);
      expect(length).toBeGreaterThanOrEqual(least);
    }
  });
});

describe('a publisher whose Redis is in trouble', () => {
  it('says that a full Redis refused it, and goes on once there is room', async () => {
    await startWith();
    await createStreams();
    const publisher = publisherOf();
    await publisher.publish('a', 'x');
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
    const failure = await failureOf(publisher.publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'PUBLISH_REJECTED', redisCode: 'OOM', retryable: true });
    await redis.cli('CONFIG', 'SET', 'maxmemory', '0');
    await publisher.publish('a', 'x');
  });

  it('says that a replica refused it', async () => {
    await startWith();
    await createStreams();
    const publisher = publisherOf();
    await publisher.publish('a', 'x');
    await redis.cli('REPLICAOF', '127.0.0.1', '1');
    const failure = await failureOf(publisher.publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'PUBLISH_REJECTED', redisCode: 'READONLY', retryable: true });
    await redis.cli('REPLICAOF', 'NO', 'ONE');
    await publisher.publish('a', 'x');
  });

  it('fails at its start naming the command that its user may not run', async () => {
    const acl = ['user default on nopass ~* &* +@all -xadd', 'user admin on >admin ~* &* +@all'];
    await startWith({ acl, adminUser: { username: 'admin', password: 'admin' } });
    const failure = await failureOf(publisherOf().start());
    expect(failure).toMatchObject({ code: 'UNSUPPORTED_REDIS', retryable: false });
    expect(failure.message).toContain('XADD');
  });

  it('fails at its start when the password is wrong, without repeating it', async () => {
    await startWith({ password: 'right' });
    const failure = await failureOf(publisherOf({ redis: redis.url.replace('right', 'wr0ng') }).start());
    expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(failure.message).not.toContain('wr0ng');
  });

  it('waits out a restart, and writes nothing twice that was answered', async () => {
    await startWith({ appendOnly: true });
    await createStreams();
    const publisher = publisherOf();
    await publisher.publish('a', { key: 'before' });
    await redis.kill();
    const published = publisher.publish('a', { key: 'during' });
    await redis.restart();
    await published;
    await publisher.publish('a', { key: 'after' });
    expect(await writtenKeys()).toEqual(['before', 'during', 'after']);
  });

  it('settles every publish in bounded time while Redis is gone, and holds no more than its bound', async () => {
    await startWith();
    await createStreams();
    const publisher = publisherOf({ maxInFlight: 50, publishTimeoutMs: 400 });
    await publisher.publish('a', 'x');
    await redis.kill();
    const startMs = performance.now();
    const failures = await Promise.all(
      Array.from({ length: 500 }, async () => failureOf(publisher.publish('a', 'x'))),
    );
    expect(performance.now() - startMs).toBeLessThan(2_000);
    const codes = failures.map(({ code }) => code);
    expect(codes.filter((code) => code === 'BACKPRESSURE').length).toBe(450);
    expect(codes.filter((code) => code === 'PUBLISH_TIMEOUT' || code === 'PUBLISH_UNCERTAIN').length).toBe(
      50,
    );
    await redis.restart();
    await createStreams();
    await publisher.publish('a', 'x');
  });

  it('cuts a connection to a frozen Redis, says that outcomes are unknown, and goes on after the thaw', async () => {
    await startWith();
    await createStreams();
    const publisher = publisherOf({ maxInFlight: 20, publishTimeoutMs: 600, stallTimeoutMs: 150 });
    await publisher.publish('a', { key: 'first' });
    redis.freeze();
    const startMs = performance.now();
    for (let round = 0; round < 3; round++) {
      const failures = await Promise.all(
        Array.from({ length: 20 }, async () => failureOf(publisher.publish('a', { key: `frozen-${round}` }))),
      );
      const codes = new Set(failures.map(({ code }) => code));
      if (round === 0) expect(codes).toContain('PUBLISH_UNCERTAIN');
      codes.delete('PUBLISH_TIMEOUT');
      codes.delete('PUBLISH_UNCERTAIN');
      expect([...codes]).toEqual([]);
    }
    expect(performance.now() - startMs).toBeLessThan(6_000);
    redis.thaw();
    await waitUntil('a publish succeeds again', 10_000, async () => {
      const failure = await failureOf(publisher.publish('a', { key: 'thawed' }));
      return failure.message === 'it resolved';
    });
    // What was sent and not answered may be there, as the errors said; what was never sent is not.
    expect((await writtenKeys()).filter((key) => key === 'frozen-2')).toEqual([]);
  });

  it('sends an entry once more when the connection is lost before the answer', async () => {
    await startWith();
    await createStreams();
    const publisher = publisherOf();
    await publisher.publish('a', { key: 'first' });
    redis.freeze();
    const published = publisher.publish('a', { key: 'second' });
    // The kill is the first command that the thawed server sees on another connection.
    const killed = redis.cli('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    redis.thaw();
    await killed;
    expect((await published).streamKey).toBe(`orders:${shardIndexOf('a', SHARD_COUNT)}`);
    const times = (await writtenKeys()).filter((key) => key === 'second').length;
    expect([1, 2]).toContain(times);
  });
});
