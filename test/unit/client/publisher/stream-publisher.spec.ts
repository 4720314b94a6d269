import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import {
  CoordinatorRequestError,
  GroupNotFoundError,
  InvalidOptionsError,
} from '../../../../src/client/errors';
import type { StreamPublisherOptions } from '../../../../src/client/publisher/publisher-options';
import type {
  AppendOutcome,
  EntryFields,
  StreamAppender,
} from '../../../../src/client/publisher/stream-appender';
import { StreamPublisher } from '../../../../src/client/publisher/stream-publisher';
import { shardIndexOf } from '../../../../src/domain/routing/partitioner';
import type { ProducerRouting } from '../../../../src/protocol';
import { ManualClock, settle } from '../../../support/manual-clock';
import { routingOf } from './routing-samples';

interface Sent {
  readonly streamKey: string;
  readonly fields: EntryFields;
  readonly trim: number | null;
  settle(outcome: AppendOutcome): Promise<void>;
}

/** The way to Redis, moved by hand unless `answerWith` says what to answer at once. */
class StubAppender implements StreamAppender {
  isReady = true;
  readonly sent: Sent[] = [];
  answerWith: ((streamKey: string) => AppendOutcome) | null = null;
  openFailure: Error | null = null;
  closed = 0;
  private readonly listeners = new Set<() => void>();

  async open(): Promise<void> {
    if (this.openFailure !== null) throw this.openFailure;
  }

  onceReady(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async becomeReady(): Promise<void> {
    this.isReady = true;
    for (const listener of [...this.listeners]) listener();
    this.listeners.clear();
    await settle();
  }

  get waiting(): number {
    return this.listeners.size;
  }

  async append(streamKey: string, fields: EntryFields, trim: number | null): Promise<AppendOutcome> {
    return new Promise((resolve) => {
      this.sent.push({
        streamKey,
        fields,
        trim,
        settle: async (outcome) => {
          resolve(outcome);
          await settle();
        },
      });
      if (this.answerWith !== null) resolve(this.answerWith(streamKey));
    });
  }

  close(): void {
    this.closed += 1;
  }
}

const APPENDED: AppendOutcome = { kind: 'APPENDED', id: '1-1' };
const UNCERTAIN: AppendOutcome = { kind: 'UNCERTAIN', cause: new Error('Connection is closed.') };
const MISSING: AppendOutcome = { kind: 'MISSING' };

let clock: ManualClock;
let appender: StubAppender;
let routing: () => ProducerRouting | Promise<ProducerRouting>;
let routingCalls: number;
let publishers: StreamPublisher[];

function publisherOf(options: Partial<StreamPublisherOptions> = {}): StreamPublisher {
  const required = { coordinatorUrl: 'http://127.0.0.1:1', redis: '', streamPrefix: 'orders' };
  const source = async (): Promise<ProducerRouting> => {
    routingCalls += 1;
    return routing();
  };
  const ports = { clock, random: () => 0, routing: source, appender };
  const publisher = new StreamPublisher({ ...required, consumerGroup: 'billing', ...options }, ports);
  publishers.push(publisher);
  return publisher;
}

beforeEach(() => {
  clock = new ManualClock();
  appender = new StubAppender();
  routing = () => routingOf(5);
  routingCalls = 0;
  publishers = [];
});

afterEach(async () => {
  for (const publisher of publishers) {
    const closed = publisher.close();
    await clock.advance(700_000);
    await closed;
  }
  expect(clock.timerCount).toBe(0); // nothing of a publisher runs on
});

/** What the promise rejects with, looked at once it has. */
async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string; retryable?: boolean }> {
  const outcome = await promise.then(
    () => new Error('it resolved'),
    (error: unknown) => error,
  );
  return outcome as Error;
}

describe('StreamPublisher options', () => {
  it('are checked all at once', () => {
    let failure: unknown;
    const options = { streamPrefix: 'or{ders', consumerGroup: 'a:b', maxInFlight: 0, publishTimeoutMs: 1.5 };
    try {
      publisherOf({ ...options, dangerouslyTrimToApproximately: -1, routingWaitMs: 1e9 });
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(InvalidOptionsError);
    expect((failure as InvalidOptionsError).faults.length).toBeGreaterThanOrEqual(6);
  });

  it('refuse a stall limit that leaves no time for a second sending', () => {
    expect(() => publisherOf({ publishTimeoutMs: 1_000, stallTimeoutMs: 1_000 })).toThrow(
      InvalidOptionsError,
    );
  });
});

describe('publish', () => {
  it('starts the publisher, and sends the entry to the shard of its key', async () => {
    appender.answerWith = () => APPENDED;
    const publisher = publisherOf();
    for (const key of ['order-1', 'order-2', 'order-3']) {
      const entry = await publisher.publish(key, { eventId: 7, ok: true });
      const shardIndex = shardIndexOf(key, 2);
      expect(entry).toEqual({
        streamKey: `orders:${shardIndex}`,
        id: '1-1',
        shardIndex,
        duplicatePossible: false,
      });
    }
    expect(routingCalls).toBe(1);
    expect(appender.sent[0]).toMatchObject({ fields: ['eventId', '7', 'ok', 'true'], trim: null });
  });

  it('takes a text or a buffer as the field payload, and trims only where asked', async () => {
    appender.answerWith = () => APPENDED;
    const publisher = publisherOf({ dangerouslyTrimToApproximately: 1_000 });
    await publisher.publish('a', 'hello');
    await publisher.publish('a', Buffer.from([0, 255]));
    expect(appender.sent.map(({ fields, trim }) => [fields, trim])).toEqual([
      [['payload', 'hello'], 1_000],
      [['payload', Buffer.from([0, 255])], 1_000],
    ]);
  });

  it.each([[{}], [{ a: null }], [{ a: [1] }], [{ a: undefined }]])(
    'refuses the content %p',
    async (content) => {
      const failure = await failureOf(publisherOf().publish('a', content as never));
      expect(failure).toMatchObject({ code: 'INVALID_ENTRY', retryable: false });
      expect(appender.sent.length).toBe(0);
    },
  );

  it('says that the group does not exist, and starts again on a later publish', async () => {
    appender.answerWith = () => APPENDED;
    routing = () => {
      const answer = { request: 'GET x', httpStatus: 404, errorCode: 'GROUP_NOT_FOUND', message: '' };
      throw new CoordinatorRequestError({ ...answer, retryable: false });
    };
    const publisher = publisherOf();
    expect(await failureOf(publisher.publish('a', 'x'))).toBeInstanceOf(GroupNotFoundError);
    expect(await failureOf(publisher.publish('a', 'x'))).toBeInstanceOf(GroupNotFoundError);
    expect(routingCalls).toBe(1); // not one request per publish while it fails
    routing = () => routingOf(5);
    await clock.advance(100);
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
  });

  it('is refused after close', async () => {
    const publisher = publisherOf();
    await publisher.close();
    expect(await failureOf(publisher.publish('a', 'x'))).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(appender.closed).toBe(1);
  });

  it('says so when the stream has no shards', async () => {
    routing = () => routingOf(5, { shardCount: 0 });
    expect(await failureOf(publisherOf().publish('a', 'x'))).toMatchObject({
      code: 'NO_SHARDS',
      retryable: true,
    });
  });
});

describe('a stream that is missing', () => {
  it('has the route refreshed and the entry sent once more, along the new route', async () => {
    const publisher = publisherOf();
    const published = publisher.publish('order-1', 'x');
    await settle();
    routing = () => routingOf(6, { shardCount: 1 });
    await appender.sent[0]!.settle(MISSING);
    expect(routingCalls).toBe(2);
    expect(appender.sent.map(({ streamKey }) => streamKey)).toEqual(['orders:1', 'orders:0']);
    await appender.sent[1]!.settle(APPENDED);
    expect(await published).toMatchObject({ streamKey: 'orders:0', duplicatePossible: false });
  });

  it('fails the publish when it is missing again', async () => {
    appender.answerWith = () => MISSING;
    const failure = await failureOf(publisherOf().publish('order-1', 'x'));
    expect(failure).toMatchObject({ code: 'STREAM_MISSING', retryable: false, streamKey: 'orders:1' });
    expect(appender.sent.length).toBe(2);
    expect(routingCalls).toBe(2);
  });

  it('fails the publish as retryable when the route cannot be refreshed', async () => {
    const publisher = publisherOf();
    await publisher.start();
    appender.answerWith = () => MISSING;
    routing = () => Promise.reject(new Error('coordinator away'));
    const failure = await failureOf(publisher.publish('order-1', 'x'));
    expect(failure).toMatchObject({ code: 'STREAM_MISSING', retryable: true });
    expect(appender.sent.length).toBe(1);
  });
});

describe('the routing lease of a publisher', () => {
  it('lets publishes go on while the coordinator is away, and fails them when it is over', async () => {
    appender.answerWith = () => APPENDED;
    routing = () => routingOf(5, { leaseMs: 1_000, refreshMs: 200 });
    const publisher = publisherOf();
    await publisher.start();
    routing = () => Promise.reject(new Error('coordinator away'));
    await clock.advance(999);
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
    await clock.advance(1);
    const failure = await failureOf(publisher.publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'ROUTING_LEASE_EXPIRED', retryable: true });
    expect((failure.cause as Error).message).toBe('coordinator away');
    routing = () => routingOf(5);
    await clock.advance(5_000);
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
  });

  it('is refreshed soon after a consumer of the process saw a higher version', async () => {
    const publisher = publisherOf();
    await publisher.start();
    publisher.noteVersion(5);
    await clock.advance(100);
    expect(routingCalls).toBe(1);
    publisher.noteVersion(6);
    await clock.advance(100);
    expect(routingCalls).toBe(2);
  });

  it('is refreshed soon after a redirect', async () => {
    const publisher = publisherOf();
    await publisher.start();
    const cause = new Error('MOVED 8578 127.0.0.1:7001');
    appender.answerWith = () => ({ kind: 'REJECTED', redisCode: 'MOVED', retryable: true, cause });
    const failure = await failureOf(publisher.publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'PUBLISH_REJECTED', redisCode: 'MOVED', retryable: true });
    await clock.advance(100);
    expect(routingCalls).toBe(2);
  });
});

describe('an unknown outcome', () => {
  it('is sent once more, and the entry says that it may be there twice', async () => {
    const publisher = publisherOf();
    const published = publisher.publish('a', 'x');
    await settle();
    await appender.sent[0]!.settle(UNCERTAIN);
    await appender.sent[1]!.settle(APPENDED);
    expect(await published).toMatchObject({ id: '1-1', duplicatePossible: true });
  });

  it('fails the publish the second time, saying how often it was sent', async () => {
    appender.answerWith = () => UNCERTAIN;
    const failure = await failureOf(publisherOf().publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 2, retryable: true });
    expect(appender.sent.length).toBe(2);
  });

  it.each<[string, AppendOutcome]>([
    ['refused', { kind: 'REJECTED', redisCode: 'OOM', retryable: true, cause: new Error('OOM command') }],
    ['missing', MISSING],
  ])('stays unknown when the second sending is %s', async (_, second) => {
    const publisher = publisherOf();
    const failure = failureOf(publisher.publish('a', 'x'));
    await settle();
    await appender.sent[0]!.settle(UNCERTAIN);
    appender.answerWith = () => second;
    await appender.sent[1]!.settle(second);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
  });

  it('stays unknown when the deadline passes before the second sending', async () => {
    const publisher = publisherOf({ publishTimeoutMs: 1_000 });
    const failure = failureOf(publisher.publish('a', 'x'));
    await settle();
    appender.isReady = false;
    await appender.sent[0]!.settle(UNCERTAIN);
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
    await appender.becomeReady();
    expect(appender.sent.length).toBe(1); // nobody waits for it any more: it is not sent
  });
});

describe('the deadline of a publish', () => {
  it('ends one that waits for a connection, with nothing written and nothing left waiting', async () => {
    const publisher = publisherOf({ publishTimeoutMs: 1_000 });
    await publisher.start();
    appender.isReady = false;
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(990);
    expect(appender.waiting).toBe(1);
    await clock.advance(30);
    expect(await failure).toMatchObject({ code: 'PUBLISH_TIMEOUT', retryable: true });
    expect(appender.waiting).toBe(0);
    await appender.becomeReady();
    expect(appender.sent.length).toBe(0);
  });

  it('can be set for one publish', async () => {
    const publisher = publisherOf();
    await publisher.start();
    appender.isReady = false;
    const failure = failureOf(publisher.publish('a', 'x', { timeoutMs: 70 }));
    await clock.advance(70);
    expect(await failure).toMatchObject({ code: 'PUBLISH_TIMEOUT' });
  });

  it('lets one that waits for a connection go on when it comes', async () => {
    const publisher = publisherOf();
    await publisher.start();
    appender.isReady = false;
    appender.answerWith = () => APPENDED;
    const published = publisher.publish('a', 'x');
    await settle();
    await appender.becomeReady();
    expect((await published).id).toBe('1-1');
  });

  it('leaves the outcome unknown when the entry was sent', async () => {
    const publisher = publisherOf({ publishTimeoutMs: 1_000 });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
    await appender.sent[0]!.settle(APPENDED); // too late: it changes nothing
  });

  it('covers a connection that claims to be ready and is not', async () => {
    const publisher = publisherOf({ publishTimeoutMs: 1_000 });
    appender.answerWith = () => ({ kind: 'NOT_SENT', cause: new Error('not writeable') });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_TIMEOUT' });
    expect(appender.sent.length).toBeLessThan(120); // it pauses between two tries
  });
});

describe('the signal of a publish', () => {
  it('ends it with its reason before it is sent', async () => {
    const publisher = publisherOf();
    const reason = new Error('request cancelled');
    expect(await failureOf(publisher.publish('a', 'x', { signal: AbortSignal.abort(reason) }))).toBe(reason);
    await publisher.start();
    appender.isReady = false;
    const controller = new AbortController();
    const failure = failureOf(publisher.publish('a', 'x', { signal: controller.signal }));
    await settle();
    controller.abort(reason);
    expect(await failure).toBe(reason);
  });

  it('leaves the outcome unknown when it was sent', async () => {
    const controller = new AbortController();
    const failure = failureOf(publisherOf().publish('a', 'x', { signal: controller.signal }));
    await settle();
    controller.abort(new Error('request cancelled'));
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
    await appender.sent[0]!.settle(APPENDED);
  });
});

describe('the bound on publishes under way', () => {
  it('refuses one more, and takes it again when one has ended', async () => {
    const publisher = publisherOf({ maxInFlight: 2 });
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
    const publisher = publisherOf({ maxInFlight: 1, publishTimeoutMs: 1_000 });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN' });
    expect(await failureOf(publisher.publish('a', 'x'))).toMatchObject({ code: 'BACKPRESSURE' });
    await appender.sent[0]!.settle(UNCERTAIN);
    appender.answerWith = () => APPENDED;
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
  });

  it('holds while the start hangs', async () => {
    routing = () => new Promise(() => undefined);
    const publisher = publisherOf({ maxInFlight: 3, publishTimeoutMs: 1_000 });
    const failures = [1, 2, 3, 4].map(async () => failureOf(publisher.publish('a', 'x')));
    await clock.advance(1_020);
    const codes = (await Promise.all(failures)).map(({ code }) => code);
    expect(codes).toEqual(['PUBLISH_TIMEOUT', 'PUBLISH_TIMEOUT', 'PUBLISH_TIMEOUT', 'BACKPRESSURE']);
  });
});

describe('publishBatch', () => {
  it('gives the outcome of each entry, in order, whatever becomes of the others', async () => {
    const publisher = publisherOf();
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
    const publisher = publisherOf({ maxInFlight: 4 });
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
    const publisher = publisherOf({ maxInFlight: 1 });
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
    const publisher = publisherOf();
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
    const publisher = publisherOf({ publishTimeoutMs: 1_000, stallTimeoutMs: 500 });
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
    const registry = new Registry();
    appender.answerWith = () => APPENDED;
    const publisher = publisherOf({ registry });
    const other = publisherOf({ registry, streamPrefix: 'bills' });
    await publisher.publish('a', 'x');
    await failureOf(publisher.publish('a', {}));
    await other.start();
    routing = () => Promise.reject(new Error('away'));
    await clock.advance(5_000);
    const text = await registry.metrics();
    expect(text).toContain(
      'redis_stream_client_publishes_total{stream_prefix="orders",outcome="published"} 1',
    );
    expect(text).toContain(
      'redis_stream_client_publishes_total{stream_prefix="orders",outcome="invalid_entry"} 1',
    );
    expect(text).toContain('redis_stream_client_routing_refresh_failures_total{stream_prefix="bills"} 1');
    expect(text).toContain('redis_stream_client_routing_cache_age_seconds{stream_prefix="orders"} 5');
    expect(text).toContain('redis_stream_client_publishes_in_flight{stream_prefix="orders"} 0');
    await publisher.close();
    expect(await registry.metrics()).not.toContain('stream_prefix="orders"');
  });
});
