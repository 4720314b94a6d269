import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsumerWorld, GROUP } from '../../support/consumer-world';
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

beforeEach(async () => {
  world = new ConsumerWorld(server);
  await world.createShards(1);
  world.coordinator.assign('a-m0', [0]);
});

afterEach(async () => {
  await world.close();
});

describe('taking over a shard', () => {
  it('handles what former owners left pending first, in id order, then what is new', async () => {
    await world.add(0, 1, 2, 3, 4, 5, 6);
    await world.deliverTo('former-a', 0, 2);
    await world.deliverTo('former-b', 0, 1);
    await world.deliverTo('former-a', 0, 1);
    await world.start();
    await world.until('all handled', () => world.handled.length === 6);
    expect(world.values).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(world.handled.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 2, 2, 2, 1, 1]);
    await world.untilNothingPending(0);
  });

  it('takes over more than one page', async () => {
    await world.add(0, ...Array.from({ length: 250 }, (_, index) => index));
    await world.deliverTo('former', 0, 230);
    await world.start();
    await world.until('all handled', () => world.handled.length === 250);
    expect(world.values).toEqual(Array.from({ length: 250 }, (_, index) => String(index)));
    await world.untilNothingPending(0);
  });

  it('removes the names of former owners that have nothing pending, and only those', async () => {
    await world.add(0, 1);
    await world.deliverTo('former', 0, 1);
    const consumer = await world.start();
    await world.until('only its own name is left', async () => {
      const names = await world.consumerNames(0);
      return names.length === 1 && names[0]!.startsWith('a-m0:');
    });
    expect(world.values).toEqual(['1']);
    await consumer.stop();
    expect(await world.consumerNames(0)).toEqual([]);
  });

  it('acks and counts an entry that was deleted while it was pending, and never handles it as an empty one', async () => {
    const ids = await world.add(0, 1, 2, 3);
    await world.deliverTo('former', 0, 3);
    await world.redis.xdel(world.key(0), ids[1]!);
    await world.start();
    await world.until('the others handled', () => world.handled.length === 2);
    await world.untilNothingPending(0);
    expect(world.values).toEqual(['1', '3']);
  });

  it('goes back for entries that a stranger took late, before it reads on', async () => {
    await world.close();
    world = new ConsumerWorld(server, { heartbeatIntervalMs: 50, leaseTtlMs: 400, rebalanceTimeoutMs: 800 });
    await world.createShards(1);
    await world.add(0, 1);
    await world.redis.xgroup('SETID', world.key(0), GROUP, '$');
    world.coordinator.assign('a-m0', [0]);
    await world.start();
    await world.untilBlocked();
    await world.redis.xgroup('SETID', world.key(0), GROUP, '0'); // as if the entry had just come
    await world.deliverTo('zombie', 0, 1);
    await world.until('handled', () => world.values.includes('1'));
    await world.add(0, 2);
    await world.until('reads on', () => world.values.includes('2'));
    await world.untilNothingPending(0);
  });
});

describe('an entry that ends the process each time', () => {
  it('goes to the dead letters unhandled after maxDeliveries attempts, counted over processes', async () => {
    const ids = await world.add(0, 'poison', 'innocent', 'bystander');
    await world.deliverTo('dead-1', 0, 3); // one batch: all three have one delivery
    for (const name of ['dead-2', 'dead-3', 'dead-4', 'dead-5']) {
      await world.redis.xclaim(world.key(0), GROUP, name, 0, ids[0]!); // each claimed it, and died in its handler
    }
    await world.start({ maxDeliveries: 5 });
    await world.until('the others handled', () => world.handled.length === 2);
    await world.untilNothingPending(0);
    expect(world.handled.map(({ n, deliveryCount }) => [n, deliveryCount])).toEqual([
      ['innocent', 2],
      ['bystander', 2],
    ]);
    expect(await world.deadLetterFields(0)).toMatchObject([
      { originalId: ids[0], reason: 'MAX_DELIVERIES', deliveryCount: '5', n: 'poison' },
    ]);
  });

  it('is claimed right before it is handled, and its neighbours are not', async () => {
    const ids = await world.add(0, 'poison', 'innocent');
    await world.deliverTo('former', 0, 2);
    let deliveries: unknown[] = [];
    await world.start({
      handler: async (message) => {
        if (message.id !== ids[0]) return;
        const pending = (await world.redis.xpending(world.key(0), GROUP, '-', '+', 10)) as unknown[][];
        deliveries = pending.map((entry) => entry[3]);
      },
    });
    await world.until('handled', () => world.handled.length === 2);
    expect(deliveries).toEqual([2, 1]);
  });
});
