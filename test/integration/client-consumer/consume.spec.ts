import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { ConsumerWorld } from '../../support/consumer-world';
import { startRedisServer } from '../../support/redis-server';
import type { RedisServer } from '../../support/redis-server';

let server: RedisServer;
let world: ConsumerWorld;

beforeAll(async () => {
  server = await startRedisServer();
});

afterAll(async () => {
  await server.stop();
});

beforeEach(() => {
  world = new ConsumerWorld(server);
});

afterEach(async () => {
  await world.close();
});

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

describe('a consumer', () => {
  it('handles the entries of its shards in order, once, and acks them', async () => {
    await world.createShards(3);
    for (const shard of [0, 1, 2]) await world.add(shard, ...numbers(0, 250));
    world.coordinator.assign('a-m0', [0, 1, 2]);
    await world.start();
    await world.until('all handled', () => world.handled.length === 750);
    await world.add(1, 250);
    await world.until('the late one handled', () => world.handled.length === 751);
    for (const shard of [0, 1, 2]) {
      await world.untilNothingPending(shard);
      const values = world.handled.filter((entry) => entry.shard === shard).map(({ n }) => Number(n));
      expect(values).toEqual(numbers(0, shard === 1 ? 251 : 250));
    }
  });

  it('reads only what is assigned', async () => {
    await world.createShards(2);
    await world.add(0, 'mine');
    await world.add(1, 'not mine');
    world.coordinator.assign('a-m0', [0]);
    await world.start();
    await world.until('handled', () => world.handled.length === 1);
    await world.untilBlocked();
    expect(world.values).toEqual(['mine']);
  });

  it('has one logical member per degree of concurrency, each with its own shards and handler', async () => {
    await world.createShards(2);
    world.coordinator.assign('a-m0', [0]);
    world.coordinator.assign('a-m1', [1]);
    let running = 0;
    let most = 0;
    await world.start({
      concurrency: 2,
      handler: async () => {
        running += 1;
        most = Math.max(most, running);
        await world.until('both run', () => most === 2);
        running -= 1;
      },
    });
    await world.add(0, 'x');
    await world.add(1, 'y');
    await world.until('both handled', () => world.handled.length === 2);
    expect(most).toBe(2);
    expect(world.handled.map(({ memberId }) => memberId).sort()).toEqual(['a-m0', 'a-m1']);
  });

  it('serves its shards in rotation: a full one does not starve another', async () => {
    await world.createShards(2);
    await world.add(0, ...numbers(0, 500));
    world.coordinator.assign('a-m0', [0, 1]);
    await world.start({
      handler: async () => new Promise((resolve) => setImmediate(resolve)),
    });
    await world.until('the first is under way', () => world.handled.length > 10);
    await world.add(1, 'late');
    await world.until('the late one handled', () => world.values.includes('late'));
    expect(world.handled.length).toBeLessThan(500);
  });

  it('passes the fencing token of the grant to the handler', async () => {
    await world.createShards(1);
    await world.add(0, 'x');
    world.coordinator.assign('a-m0', [0]);
    const tokens: number[] = [];
    const consumer = world.consumer({ handler: (_message, context) => tokens.push(context.fencingToken) });
    consumer.on('assigned', ({ fencingToken }) => tokens.push(fencingToken));
    await consumer.start();
    await world.until('handled', () => tokens.length === 2);
    expect(tokens[0]).toBe(tokens[1]);
    expect(tokens[0]).toBeGreaterThan(0);
  });

  it('hands over fields without a prototype, whatever they are called', async () => {
    await world.createShards(1);
    await world.redis.xadd(world.key(0), '*', '__proto__', 'x', 'constructor', 'y');
    world.coordinator.assign('a-m0', [0]);
    let fields: Readonly<Record<string, string>> | null = null;
    await world.start({ handler: (message) => void (fields = message.fields) });
    await world.until('handled', () => fields !== null);
    expect(Object.entries(fields!)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });

  it('reports its progress in heartbeats', async () => {
    await world.createShards(1);
    const [id] = await world.add(0, 'x');
    world.coordinator.assign('a-m0', [0]);
    await world.start({ longPoll: false });
    await world.until('progress told', () => {
      const progress = world.coordinator.bodiesOf('a-m0').at(-1)?.shardProgress?.[0];
      return progress?.lastAckedId === id && progress?.lastDeliveredId === id && progress?.pendingCount === 0;
    });
  });

  it('counts into a prom-client registry', async () => {
    const registry = new Registry();
    await world.createShards(1);
    await world.add(0, 1, 2, 3);
    world.coordinator.assign('a-m0', [0]);
    await world.start({ metricsRegistry: registry });
    const labels = `stream="${world.streamPrefix}",consumer_group="g"`;
    await world.until('counted', async () =>
      (await registry.metrics()).includes(`redis_stream_client_entries_total{${labels},outcome="acked"} 3`),
    );
    expect(await registry.metrics()).toContain(`redis_stream_client_owned_shards{${labels}} 1`);
  });
});

describe('a revoke', () => {
  it('takes effect while a read blocks, within milliseconds', async () => {
    await world.createShards(2);
    world.coordinator.assign('a-m0', [0, 1]);
    await world.start();
    await world.untilBlocked();
    const startMs = performance.now();
    world.coordinator.assign('a-m0', [1]);
    await world.until('released', () => world.coordinator.isReleased('a-m0', 0));
    expect(performance.now() - startMs).toBeLessThan(1_000); // a read blocks for seconds
    const [id] = await world.add(0, 'for the next owner');
    await world.add(1, 'mine');
    await world.until('the rest is read on', () => world.values.includes('mine'));
    expect(world.values).toEqual(['mine']);
    expect(await world.pendingIds(0)).toEqual([]);
    expect((await world.redis.xrange(world.key(0), id!, id!)).length).toBe(1);
    expect(world.events).toContain('revoked 0 DRAINED');
  });

  it('lets the running handler finish and ack, and handles nothing that was read ahead', async () => {
    await world.createShards(1);
    const ids = await world.add(0, 1, 2, 3);
    world.coordinator.assign('a-m0', [0]);
    let release: () => void = () => undefined;
    await world.start({ handler: async () => new Promise<void>((resolve) => (release = resolve)) });
    await world.until('the first is handled', () => world.handled.length === 1);
    world.coordinator.assign('a-m0', []);
    await world.until('draining is reported', () =>
      world.coordinator
        .bodiesOf('a-m0')
        .some(
          ({ revokingShards }) =>
            revokingShards?.[0]?.state === 'DRAINING' && revokingShards[0].inFlight === 1,
        ),
    );
    expect(world.coordinator.isReleased('a-m0', 0)).toBe(false);
    release();
    await world.until('released', () => world.coordinator.isReleased('a-m0', 0));
    expect(world.values).toEqual(['1']);
    expect(await world.pendingIds(0)).toEqual(ids.slice(1));
    // Read ahead and never tried: that delivery does not count.
    const pending = (await world.redis.xpending(world.key(0), 'g', '-', '+', 10)) as unknown[][];
    expect(pending.map((entry) => entry[3])).toEqual([0, 0]);
  });

  it('goes on where it was when the shard comes back, also before the drain was done', async () => {
    await world.createShards(1);
    await world.add(0, 1, 2, 3);
    world.coordinator.assign('a-m0', [0]);
    let release: () => void = () => undefined;
    let isHeld = true;
    await world.start({
      handler: async () => {
        if (isHeld) await new Promise<void>((resolve) => (release = resolve));
      },
    });
    await world.until('the first is handled', () => world.handled.length === 1);
    world.coordinator.assign('a-m0', []);
    await world.until('draining', () =>
      world.coordinator.bodiesOf('a-m0').some(({ revokingShards }) => revokingShards?.length === 1),
    );
    world.coordinator.assign('a-m0', [0]);
    await world.until(
      'owned again',
      () => (world.coordinator.bodiesOf('a-m0').at(-1)?.revokingShards ?? []).length === 0,
    );
    expect(world.values).toEqual(['1']);
    isHeld = false;
    release();
    await world.until('all handled', () => world.handled.length === 3);
    expect(world.values).toEqual(['1', '2', '3']);
    await world.untilNothingPending(0);
  });

  it('aborts a handler at the drain deadline, refuses its ack, and reports REVOKED only when it has ended', async () => {
    await world.close();
    world = new ConsumerWorld(server, {
      heartbeatIntervalMs: 100,
      leaseTtlMs: 5_000,
      rebalanceTimeoutMs: 600,
    });
    await world.createShards(1);
    const ids = await world.add(0, 1);
    world.coordinator.assign('a-m0', [0]);
    let signal: AbortSignal | null = null;
    let release: () => void = () => undefined;
    await world.start({
      timing: { heartbeatIntervalMs: 100, memberLeaseTtlMs: 600, rebalanceTimeoutMs: 600 },
      handler: async (_message, context) => {
        signal = context.signal;
        await new Promise<void>((resolve) => (release = resolve)); // ignores the signal
      },
    });
    await world.until('handling', () => signal !== null);
    world.coordinator.assign('a-m0', []);
    await world.until('aborted', () => signal?.aborted === true);
    const beats = world.coordinator.seen.length;
    await world.until('heartbeats go on', () => world.coordinator.seen.length > beats + 3);
    expect(world.coordinator.isReleased('a-m0', 0)).toBe(false);
    release();
    await world.until('released', () => world.coordinator.isReleased('a-m0', 0));
    expect(await world.pendingIds(0)).toEqual(ids);
  });
});

describe('stop', () => {
  it('waits for the running handler, acks, leaves, and leaves no consumer name behind', async () => {
    await world.createShards(1);
    await world.add(0, 1);
    world.coordinator.assign('a-m0', [0]);
    let release: () => void = () => undefined;
    const consumer = await world.start({
      handler: async () => new Promise<void>((resolve) => (release = resolve)),
    });
    await world.until('handling', () => world.handled.length === 1);
    let hasStopped = false;
    const stopped = consumer.stop().then(() => (hasStopped = true));
    await world.until('leaving', () => world.coordinator.hasLeft('a-m0'));
    expect(hasStopped).toBe(false);
    release();
    await stopped;
    expect(world.coordinator.isReleased('a-m0', 0)).toBe(true);
    expect(await world.pendingIds(0)).toEqual([]);
    expect(await world.consumerNames(0)).toEqual([]);
    expect(await world.blockedReads()).toBe(0);
  });

  it('is bounded by the lease when the coordinator is away', async () => {
    await world.close();
    world = new ConsumerWorld(server, {
      heartbeatIntervalMs: 100,
      leaseTtlMs: 600,
      rebalanceTimeoutMs: 600,
    });
    await world.createShards(1);
    world.coordinator.assign('a-m0', [0]);
    const consumer = await world.start();
    await world.untilBlocked();
    world.coordinator.answerWith(() => new Error('unreachable'));
    const startMs = performance.now();
    await consumer.stop();
    expect(performance.now() - startMs).toBeLessThan(3_000);
  });

  it('gives up a handler that ignores its signal, and says so', async () => {
    await world.close();
    world = new ConsumerWorld(server, {
      heartbeatIntervalMs: 100,
      leaseTtlMs: 600,
      rebalanceTimeoutMs: 600,
    });
    await world.createShards(1);
    await world.add(0, 1);
    world.coordinator.assign('a-m0', [0]);
    const consumer = await world.start({ handler: async () => new Promise(() => undefined) });
    await world.until('handling', () => world.handled.length === 1);
    world.coordinator.answerWith(() => new Error('unreachable'));
    await consumer.stop();
    expect(world.errors.map(({ name }) => name)).toContain('HandlersStillRunningError');
    expect((await world.pendingIds(0)).length).toBe(1);
  });
});
