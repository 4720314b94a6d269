import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConsumerWorld } from '../../support/consumer-world';
import { startRedisServer } from '../../support/redis-server';
import type { RedisServer } from '../../support/redis-server';
import { ScriptedFailure } from '../../support/scripted-coordinator';

const SHORT = { heartbeatIntervalMs: 100, leaseTtlMs: 800, rebalanceTimeoutMs: 1_500 };

let server: RedisServer;
let world: ConsumerWorld;

beforeAll(async () => {
  server = await startRedisServer({ appendOnly: true });
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

async function blockedOn(shards: number): Promise<void> {
  await world.createShards(shards);
  world.coordinator.assign(
    'a-m0',
    Array.from({ length: shards }, (_, index) => index),
  );
  await world.start();
  await world.untilBlocked();
}

describe('a stream that disappears', () => {
  it.each([
    ['its stream is deleted', async () => world.redis.del(world.key(0))],
    ['its group is destroyed', async () => world.redis.xgroup('DESTROY', world.key(0), 'g')],
  ])(
    'concerns only its shard when %s while a read blocks, and is read again when it is back',
    async (_case, remove) => {
      await blockedOn(2);
      await remove();
      await world.add(1, 'other');
      await world.until('the other shard is read', () => world.values.includes('other'));
      await world.until('reported', () => world.errors.some(({ message }) => message.startsWith('NOGROUP')));
      await world.add(1, 'other again');
      await world.until('and read on', () => world.values.includes('other again'));
      await world.createShard(0);
      await world.add(0, 'back');
      await world.until('read again', () => world.values.includes('back'));
      expect(world.errors.filter(({ message }) => message.startsWith('NOGROUP')).length).toBeLessThan(4);
      expect(world.events.filter((event) => !event.startsWith('assigned'))).toEqual([]);
    },
  );
});

describe('Redis that fails while a read blocks', () => {
  it('is read on after a restart, with one report per kind, and no entry is lost or left pending', async () => {
    await blockedOn(2);
    await world.add(0, 1);
    await world.until('read', () => world.values.includes('1'));
    await server.restart({ kill: true });
    await world.add(0, 2);
    await world.add(1, 3);
    await world.until('read on', () => world.values.includes('2') && world.values.includes('3'));
    await world.untilNothingPending(0);
    await world.untilNothingPending(1);
    expect([...world.values].sort()).toEqual(['1', '2', '3']);
    expect(world.errors.length).toBeLessThan(8);
  });

  it('is cut off when it hangs, and read on when it answers again', async () => {
    await world.close();
    world = new ConsumerWorld(server, {
      heartbeatIntervalMs: 500,
      leaseTtlMs: 2_000,
      rebalanceTimeoutMs: 4_000,
    });
    await blockedOn(1);
    server.freeze();
    await world.until('noticed', () => world.errors.length > 0);
    server.thaw();
    await world.add(0, 1);
    await world.until('read on', () => world.values.includes('1'));
    await world.untilNothingPending(0);
  });

  it('goes on when the server was a read-only replica for a while', async () => {
    await blockedOn(1);
    await server.cli('REPLICAOF', '127.0.0.1', 1);
    await world.until('noticed', () =>
      world.errors.some(({ message }) => /READONLY|UNBLOCKED/.test(message)),
    );
    await server.cli('REPLICAOF', 'NO', 'ONE');
    await world.add(0, 1);
    await world.until('read on', () => world.values.includes('1'));
    await world.untilNothingPending(0);
  });

  it('takes what a lost reply delivered, under its own name, in order', async () => {
    await blockedOn(1);
    // Delivered to this consumer's name, and the reply never came.
    const [name] = await world.consumerNames(0);
    await server.cli('CLIENT', 'PAUSE', 200, 'WRITE');
    const pipeline = world.redis.pipeline();
    pipeline.xadd(world.key(0), '*', 'n', 'lost');
    pipeline.call('XREADGROUP', 'GROUP', 'g', name!, 'COUNT', 1, 'STREAMS', world.key(0), '>');
    pipeline.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    pipeline.xadd(world.key(0), '*', 'n', 'after');
    await pipeline.exec();
    await world.until('both handled', () => world.handled.length >= 2);
    expect(world.values).toEqual(['lost', 'after']);
    await world.untilNothingPending(0);
  });
});

describe('acks that Redis does not take', () => {
  it('are sent again until it does, and the entry is not handled again', async () => {
    await world.createShards(1);
    world.coordinator.assign('a-m0', [0]);
    await world.start({
      handler: async () => {
        await server.cli('CLIENT', 'KILL', 'TYPE', 'normal');
      },
    });
    await world.add(0, 1);
    await world.until('handled', () => world.handled.length > 0);
    await world.untilNothingPending(0);
    expect(world.handled.length).toBe(1);
  });
});

describe('a lease that ends', () => {
  const collectCommands = async (): Promise<{ lines: string[]; end: () => void }> => {
    const client = new Redis(server.port);
    const monitor = await client.monitor();
    client.disconnect(); // the monitor has a connection of its own
    const lines: string[] = [];
    monitor.on('monitor', (_time: string, args: string[]) => lines.push(args.join(' ')));
    return { lines, end: () => monitor.disconnect() };
  };

  it('stops reads, refuses the ack of the running handler, and joins anew', async () => {
    await world.close();
    world = new ConsumerWorld(server, SHORT);
    await world.createShards(1);
    const ids = await world.add(0, 1);
    world.coordinator.assign('a-m0', [0]);
    let signal: AbortSignal | null = null;
    let release: () => void = () => undefined;
    await world.start({
      handler: async (_message, context) => {
        signal ??= context.signal;
        if (world.handled.length === 1) await new Promise<void>((resolve) => (release = resolve));
      },
    });
    await world.until('handling', () => world.handled.length === 1);
    world.coordinator.answerWith(() => new ScriptedFailure(500, 'INTERNAL_ERROR'));
    await world.until('lease lost', () => world.events.includes('leaseLost'));
    expect(signal!.aborted).toBe(true);
    const { lines, end } = await collectCommands();
    release();
    const asked = world.coordinator.seen.length;
    await world.until('asks on', () => world.coordinator.seen.length > asked + 3);
    expect(lines.filter((line) => /^(xreadgroup|xack|xclaim) /i.test(line))).toEqual([]);
    expect(await world.pendingIds(0)).toEqual(ids);
    world.coordinator.asUsual();
    await world.until('handled anew', () => world.handled.length === 2);
    await world.untilNothingPending(0);
    expect(lines.some((line) => /^xclaim /i.test(line))).toBe(true); // so that the line above could have failed
    end();
    const rejoin = world.coordinator
      .bodiesOf('a-m0')
      .filter(({ memberEpoch }) => memberEpoch === 0)
      .at(-1);
    expect(rejoin?.previousEpoch).toBeGreaterThan(0);
  });

  it('never has a read in Redis that blocks for longer than it lasts', async () => {
    await world.close();
    world = new ConsumerWorld(server, SHORT);
    await world.createShards(1);
    world.coordinator.assign('a-m0', [0]);
    const { lines, end } = await collectCommands();
    await world.start();
    await world.until('several reads', () => lines.filter((line) => /^xreadgroup /i.test(line)).length > 3);
    end();
    const blockTimes = lines
      .flatMap((line) => /^xreadgroup .* BLOCK (\d+) /i.exec(line)?.[1] ?? [])
      .map(Number);
    for (const blockMs of blockTimes) {
      expect(blockMs).toBeGreaterThan(0);
      expect(blockMs).toBeLessThanOrEqual(SHORT.leaseTtlMs - 150);
    }
  });

  it('is not ended by a coordinator that answers nonsense for a while', async () => {
    await world.close();
    world = new ConsumerWorld(server, SHORT);
    await blockedOn(1);
    const answers = [404, 500, 503, null];
    let asked = 0;
    world.coordinator.answerWith(() => {
      const httpStatus = answers[asked] ?? null;
      asked += 1;
      if (asked > answers.length) return null;
      return new ScriptedFailure(httpStatus, httpStatus === 404 ? 'GROUP_NOT_FOUND' : 'MALFORMED_ANSWER');
    });
    await world.until('all answers given', () => asked > answers.length + 1);
    await world.add(0, 1);
    await world.until('still reading', () => world.values.includes('1'));
    expect(world.events).toEqual(['assigned 0', 'groupMissing']);
  });

  it('is followed by a fresh tenure when the member was fenced', async () => {
    await world.close();
    world = new ConsumerWorld(server, SHORT);
    await blockedOn(1);
    let isFenced = true;
    world.coordinator.answerWith(({ memberEpoch }) =>
      memberEpoch > 0 && isFenced ? 'FENCED_MEMBER_EPOCH' : null,
    );
    await world.until('fenced', () => world.events.includes('fenced FENCED_MEMBER_EPOCH'));
    isFenced = false;
    await world.add(0, 1);
    await world.until('reads again', () => world.values.includes('1'));
    await world.untilNothingPending(0);
  });
});

describe('start', () => {
  it('fails at once when the group does not exist', async () => {
    world.coordinator.answerWith(() => new ScriptedFailure(404, 'GROUP_NOT_FOUND'));
    await expect(world.consumer().start()).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
  });

  it('fails when there are no shards and none are promised', async () => {
    world.coordinator.shardCount = 0;
    await expect(world.consumer().start()).rejects.toThrow(/no shards/);
  });

  it('stands by when there are more members than shards', async () => {
    await world.start();
    expect(world.events).toEqual([]);
  });

  it('fails, naming the time, when no coordinator answers', async () => {
    world.coordinator.answerWith(() => new ScriptedFailure(null, null));
    await expect(world.consumer({ startTimeoutMs: 200 }).start()).rejects.toThrow(/within 200 ms/);
  });

  it('is ended by a stop', async () => {
    world.coordinator.answerWith(() => new ScriptedFailure(null, null));
    const consumer = world.consumer();
    const started = consumer.start();
    started.catch(() => undefined);
    await world.until('asks', () => world.coordinator.seen.length > 0);
    world.coordinator.asUsual();
    await consumer.stop();
    await expect(started).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
  });

  it('fails when the coordinator refuses the protocol', async () => {
    world.coordinator.answerWith(() => 'UNSUPPORTED_PROTOCOL');
    await expect(world.consumer().start()).rejects.toMatchObject({ code: 'PROTOCOL_REFUSED' });
  });

  it('fails when Redis is not there', async () => {
    const started = world.consumer({ redis: 'redis://127.0.0.1:1' }).start();
    await expect(started).rejects.toThrow(/Redis cannot be reached.*ECONNREFUSED/);
  });

  it('lists every fault of the options at once', () => {
    expect(() => world.consumer({ streamPrefix: 'a{b}', maxDeliveries: 1, concurrency: 0 })).toThrow(
      /streamPrefix.*concurrency.*maxDeliveries/,
    );
  });

  it('names every command that the user may not run', async () => {
    const limited = await startRedisServer({
      acl: ['user default on nopass ~* &* +@all -xclaim -xack', 'user admin on >secret ~* &* +@all'],
      adminUser: { username: 'admin', password: 'secret' },
    });
    try {
      const started = world.consumer({ redis: limited.url }).start();
      await expect(started).rejects.toMatchObject({
        code: 'UNSUPPORTED_REDIS',
        missing: ['the user may not run XACK', 'the user may not run XCLAIM'],
      });
    } finally {
      await limited.stop();
    }
  });

  it('says so when Redis runs as a cluster', async () => {
    const cluster = await startRedisServer({ config: ['cluster-enabled yes'] });
    try {
      await expect(world.consumer({ redis: cluster.url }).start()).rejects.toThrow(/cluster mode/);
    } finally {
      await cluster.stop();
    }
  });
});
