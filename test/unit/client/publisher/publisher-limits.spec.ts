import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { type ManualClock, settle } from '../../../support/manual-clock';
import type { ProducerRouting } from '../../../../src/protocol';
import { APPENDED, failureOf, PublisherWorld, type StubAppender, UNCERTAIN } from './publisher-world';
import { routingOf } from './routing-samples';

let world: PublisherWorld;
let clock: ManualClock;
let appender: StubAppender;

beforeEach(() => {
  world = new PublisherWorld();
  ({ clock, appender } = world);
});

afterEach(async () => {
  await world.end();
});

describe('the bound on publishes under way', () => {
  it('refuses one more, and takes it again when one has ended', async () => {
    const publisher = world.publisherOf({ maxInFlight: 2 });
    await publisher.start();
    const first = publisher.publish('a', 'x');
    const second = publisher.publish('a', 'x');
    expect(await failureOf(publisher.publish('a', 'x'))).toMatchObject({
      code: 'BACKPRESSURE',
      retryable: true,
    });
    await appender.sent[0]!.settle(APPENDED);
    await first;
    const third = publisher.publish('a', 'x');
    await settle();
    await appender.sent[1]!.settle(APPENDED);
    await appender.sent[2]!.settle(APPENDED);
    await Promise.all([second, third]);
  });

  it('counts an entry that is out of time until nothing of it waits at Redis', async () => {
    const publisher = world.publisherOf({ maxInFlight: 1, publishTimeoutMs: 1_000 });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN' });
    expect(await failureOf(publisher.publish('a', 'x'))).toMatchObject({ code: 'BACKPRESSURE' });
    await appender.sent[0]!.settle(UNCERTAIN);
    appender.answerWith = () => APPENDED;
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
  });

  it('holds while the start hangs', async () => {
    world.routing = () => new Promise(() => undefined);
    const publisher = world.publisherOf({ maxInFlight: 3, publishTimeoutMs: 1_000 });
    const failures = [1, 2, 3, 4].map(async () => failureOf(publisher.publish('a', 'x')));
    await clock.advance(1_020);
    const codes = (await Promise.all(failures)).map(({ code }) => code);
    expect(codes).toEqual(['PUBLISH_TIMEOUT', 'PUBLISH_TIMEOUT', 'PUBLISH_TIMEOUT', 'BACKPRESSURE']);
  });
});

describe('a publish that is out of time while the publisher starts', () => {
  it('is not sent when the start succeeds after all', async () => {
    let answer: (routing: ProducerRouting) => void = () => undefined;
    world.routing = () => new Promise((resolve) => (answer = resolve));
    const publisher = world.publisherOf({ maxInFlight: 1, publishTimeoutMs: 1_000 });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_TIMEOUT' });
    answer(routingOf(5));
    await settle();
    appender.answerWith = () => APPENDED;
    await publisher.publish('a', 'y');
    expect(appender.sent.map(({ fields }) => fields[1])).toEqual(['y']);
  });
});

describe('publishBatch', () => {
  it('gives the outcome of each entry, in order, whatever becomes of the others', async () => {
    const publisher = world.publisherOf();
    await publisher.start();
    let number = 0;
    const cause = new Error('OOM command not allowed');
    appender.answerWith = () => {
      number += 1;
      if (number === 2) return { kind: 'REJECTED', redisCode: 'OOM', retryable: true, cause };
      return { kind: 'APPENDED', id: `${number}-0` };
    };
    const outcomes = await publisher.publishBatch([
      { key: 'a', content: 'one' },
      { key: 'a', content: 'two' },
      { key: 'a', content: {} },
      { key: 'a', content: 'four' },
    ]);
    expect(outcomes).toMatchObject([
      { ok: true, entry: { id: '1-0' } },
      { ok: false, error: { code: 'PUBLISH_REJECTED', redisCode: 'OOM' } },
      { ok: false, error: { code: 'INVALID_ENTRY' } },
      { ok: true, entry: { id: '3-0' } },
    ]);
  });

  it('larger than the bound goes through in order, never more at once', async () => {
    let most = 0;
    let underWay = 0;
    const publisher = world.publisherOf({ maxInFlight: 4 });
    await publisher.start();
    const append = appender.append.bind(appender);
    appender.answerWith = () => APPENDED;
    appender.append = async (...parameters) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await settle();
      underWay -= 1;
      return append(...parameters);
    };
    const items = Array.from({ length: 30 }, (_, index) => ({ key: 'a', content: String(index) }));
    const outcomes = await publisher.publishBatch(items);
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(most).toBe(4);
    expect(appender.sent.map(({ fields }) => fields[1])).toEqual(items.map(({ content }) => content));
  });

  it('does not let more than a bounded number of batches wait', async () => {
    const publisher = world.publisherOf({ maxInFlight: 1 });
    await publisher.start();
    const blocking = publisher.publish('a', 'x');
    const batches = Array.from({ length: 65 }, async () =>
      publisher.publishBatch([{ key: 'a', content: 'x' }]),
    );
    const refused = (await batches[64])!;
    expect(refused).toMatchObject([{ ok: false, error: { code: 'BACKPRESSURE' } }]);
    appender.answerWith = () => APPENDED;
    await appender.sent[0]!.settle(APPENDED);
    await blocking;
    const served = await Promise.all(batches.slice(0, 64));
    expect(served.every(([outcome]) => outcome?.ok === true)).toBe(true);
  });
});

describe('close', () => {
  it('waits for what is under way', async () => {
    const publisher = world.publisherOf();
    const published = publisher.publish('a', 'x');
    await settle();
    const closed = publisher.close();
    await settle();
    expect(appender.closed).toBe(0);
    await appender.sent[0]!.settle(APPENDED);
    await closed;
    expect((await published).id).toBe('1-1');
    expect(appender.closed).toBe(1);
  });

  it('does not wait longer than the timeouts, and ends what is left', async () => {
    const publisher = world.publisherOf({ publishTimeoutMs: 1_000, stallTimeoutMs: 500 });
    await publisher.start();
    appender.isReady = false;
    const failure = failureOf(publisher.publish('a', 'x', { timeoutMs: 600_000 }));
    await settle();
    const closed = publisher.close();
    await clock.advance(1_500);
    await closed;
    expect(await failure).toMatchObject({ code: 'CLIENT_CLOSED' });
  });
});

describe('the metrics of publishers', () => {
  it('count outcomes, failures of refreshes and the age of the routing, for all publishers of a registry', async () => {
    const metricsRegistry = new Registry();
    appender.answerWith = () => APPENDED;
    const publisher = world.publisherOf({ metricsRegistry });
    const other = world.publisherOf({ metricsRegistry, streamPrefix: 'bills' });
    await publisher.publish('a', 'x');
    await failureOf(publisher.publish('a', {}));
    await other.start();
    world.routing = () => Promise.reject(new Error('away'));
    await clock.advance(5_000);
    const text = await metricsRegistry.metrics();
    expect(text).toContain(
      'redis_stream_client_publishes_total{stream="orders",consumer_group="billing",outcome="published"} 1',
    );
    expect(text).toContain(
      'redis_stream_client_publishes_total{stream="orders",consumer_group="billing",outcome="invalid_entry"} 1',
    );
    expect(text).toContain(
      'redis_stream_client_routing_refresh_failures_total{stream="bills",consumer_group="billing"} 1',
    );
    expect(text).toContain(
      'redis_stream_client_routing_cache_age_seconds{stream="orders",consumer_group="billing"} 5',
    );
    expect(text).toContain(
      'redis_stream_client_publishes_in_flight{stream="orders",consumer_group="billing"} 0',
    );
    await publisher.close();
    expect(await metricsRegistry.metrics()).not.toContain('stream="orders"');
  });
});
