import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageContext } from '../../../src/client/consumer/message';
import { InvalidMessageError, NonRetryableError, RetryableError } from '../../../src/client/handler-errors';
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
  await world.createShards(2);
  world.coordinator.assign('a-m0', [0, 1]);
});

afterEach(async () => {
  await world.close();
});

/** Throws for value `bad` while `mayThrow`, synchronously or not. */
const throwing =
  (error: () => Error, isAsync: boolean, mayThrow = (): boolean => true) =>
  (message: { readonly fields: Readonly<Record<string, string>> }): Promise<void> | undefined => {
    if (message.fields['n'] !== 'bad' || !mayThrow()) return isAsync ? Promise.resolve() : undefined;
    if (isAsync) return Promise.reject(error());
    throw error();
  };

describe.each([
  ['synchronous', false],
  ['asynchronous', true],
])('a %s handler that throws', (_kind, isAsync) => {
  it('InvalidMessageError: acked, handed to onInvalid, the shard goes on', async () => {
    await world.add(0, 'bad', 'good');
    const invalid: string[] = [];
    await world.start({
      handler: throwing(() => new InvalidMessageError('no sense'), isAsync),
      onInvalid: (message, context, error) => {
        invalid.push(`${message.fields['n']} ${context.shard} ${error.message}`);
      },
    });
    await world.until('the next is handled', () => world.values.includes('good'));
    await world.untilNothingPending(0);
    expect(invalid).toEqual(['bad 0 no sense']);
    expect(world.values).toEqual(['bad', 'good']);
    expect(await world.redis.exists(world.deadLetters(0))).toBe(0);
  });

  it('NonRetryableError: moved to the dead letters at once, the shard goes on', async () => {
    const [id] = await world.add(0, 'bad', 'good');
    await world.start({ handler: throwing(() => new NonRetryableError('hopeless'), isAsync) });
    await world.until('the next is handled', () => world.values.includes('good'));
    await world.untilNothingPending(0);
    expect(world.values).toEqual(['bad', 'good']);
    expect(await world.deadLetterFields(0)).toEqual([
      {
        ...{ originalId: id, originalStream: world.key(0), consumerGroup: GROUP, reason: 'NON_RETRYABLE' },
        ...{ error: 'NonRetryableError: hopeless', deliveryCount: '1', n: 'bad' },
      },
    ]);
  });

  it('RetryableError: the same entry again without limit, nothing behind it before, other shards go on', async () => {
    await world.add(0, 'bad', 'after');
    let isDown = true;
    await world.start({
      maxDeliveries: 2,
      handler: throwing(
        () => new RetryableError('downstream is away'),
        isAsync,
        () => isDown,
      ),
    });
    await world.until('tried often', () => world.handled.length >= 6);
    await world.add(1, 'elsewhere');
    await world.until('the other shard goes on', () => world.values.includes('elsewhere'));
    expect(world.values).not.toContain('after');
    isDown = false;
    await world.until('goes on', () => world.values.includes('after'));
    await world.untilNothingPending(0);
    expect(await world.redis.exists(world.deadLetters(0))).toBe(0);
    // None of these attempts counts: every one is the first.
    const attempts = world.handled.filter(({ n }) => n === 'bad');
    expect(new Set(attempts.map(({ deliveryCount }) => deliveryCount))).toEqual(new Set([1]));
  });

  it('anything else: again up to maxDeliveries, each counted in Redis, then the dead letters', async () => {
    await world.add(0, 'bad', 'good');
    await world.start({ maxDeliveries: 3, handler: throwing(() => new TypeError('oops'), isAsync) });
    await world.until('the next is handled', () => world.values.includes('good'));
    await world.untilNothingPending(0);
    expect(world.handled.map(({ n, deliveryCount }) => `${n} ${deliveryCount}`)).toEqual([
      'bad 1',
      'bad 2',
      'bad 3',
      'good 1',
    ]);
    expect(await world.deadLetterFields(0)).toMatchObject([
      { reason: 'MAX_DELIVERIES', deliveryCount: '3', error: 'TypeError: oops' },
    ]);
  });
});

describe('onInvalid that throws', () => {
  it('decides as a handler would: tried again, and not lost', async () => {
    await world.add(0, 'bad');
    let failures = 2;
    await world.start({
      handler: throwing(() => new InvalidMessageError('no sense'), true),
      onInvalid: async () => {
        failures -= 1;
        if (failures >= 0) throw new RetryableError('cannot store it now');
      },
    });
    await world.until('taken in the end', () => failures < 0);
    await world.untilNothingPending(0);
    expect(world.handled.length).toBe(3);
  });
});

describe('a dead letter that Redis refuses', () => {
  it('is moved once Redis takes it, without handling the entry again', async () => {
    await world.redis.set(world.deadLetters(0), 'in the way');
    await world.add(0, 'bad', 'good');
    await world.start({ handler: throwing(() => new NonRetryableError('hopeless'), false) });
    await world.until('reported', () => world.errors.some(({ message }) => message.includes('WRONGTYPE')));
    expect(world.values).toEqual(['bad']);
    await world.redis.del(world.deadLetters(0));
    await world.until('goes on', () => world.values.includes('good'));
    expect(world.values).toEqual(['bad', 'good']);
    expect((await world.deadLetterFields(0)).length).toBe(1);
  });
});

describe('manual acks', () => {
  it('leave entries pending until context.ack, during or after the handler, once', async () => {
    const ids = await world.add(0, 1, 2);
    const contexts: MessageContext[] = [];
    const answers: boolean[] = [];
    await world.start({
      ackMode: 'manual',
      handler: (message, context) => {
        contexts.push(context);
        if (message.fields['n'] === '1') answers.push(context.ack(), context.ack());
      },
    });
    await world.until('both handled', () => world.handled.length === 2);
    await world.until('one pending', async () => (await world.pendingIds(0)).length === 1);
    expect(answers).toEqual([true, false]);
    expect(await world.pendingIds(0)).toEqual([ids[1]]);
    expect([contexts[1]!.ack(), contexts[1]!.ack()]).toEqual([true, false]);
    await world.untilNothingPending(0);
  });

  it('are refused once the shard was given up', async () => {
    const ids = await world.add(0, 1);
    const contexts: MessageContext[] = [];
    await world.start({ ackMode: 'manual', handler: (_message, context) => void contexts.push(context) });
    await world.until('handled', () => contexts.length === 1);
    world.coordinator.assign('a-m0', [1]);
    await world.until('released', () => world.coordinator.isReleased('a-m0', 0));
    expect(contexts[0]!.ack()).toBe(false);
    expect(await world.pendingIds(0)).toEqual(ids);
  });
});
