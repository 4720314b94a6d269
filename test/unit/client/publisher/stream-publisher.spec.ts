import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CoordinatorRequestError,
  GroupNotFoundError,
  InvalidOptionsError,
} from '../../../../src/client/errors';
import type { AppendOutcome } from '../../../../src/client/publisher/stream-appender';
import { shardIndexOf } from '../../../../src/domain/routing/partitioner';
import { type ManualClock, settle } from '../../../support/manual-clock';
import {
  APPENDED,
  failureOf,
  MISSING,
  PublisherWorld,
  type StubAppender,
  UNCERTAIN,
} from './publisher-world';
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

describe('StreamPublisher options', () => {
  it('are checked all at once', () => {
    let failure: unknown;
    const options = { streamPrefix: 'or{ders', consumerGroup: 'a:b', maxInFlight: 0, publishTimeoutMs: 1.5 };
    try {
      world.publisherOf({ ...options, dangerouslyTrimToApproximately: -1, routingWaitMs: 1e9 });
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(InvalidOptionsError);
    expect((failure as InvalidOptionsError).faults.length).toBeGreaterThanOrEqual(6);
  });

  it('refuse a stall limit that leaves no time for a second sending', () => {
    expect(() => world.publisherOf({ publishTimeoutMs: 1_000, stallTimeoutMs: 1_000 })).toThrow(
      InvalidOptionsError,
    );
  });
});

describe('publish', () => {
  it('starts the publisher, and sends the entry to the shard of its key', async () => {
    appender.answerWith = () => APPENDED;
    const publisher = world.publisherOf();
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
    expect(world.routingCalls).toBe(1);
    expect(appender.sent[0]).toMatchObject({ fields: ['eventId', '7', 'ok', 'true'], trim: null });
  });

  it('takes a text or a buffer as the field payload, and trims only where asked', async () => {
    appender.answerWith = () => APPENDED;
    const publisher = world.publisherOf({ dangerouslyTrimToApproximately: 1_000 });
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
      const failure = await failureOf(world.publisherOf().publish('a', content as never));
      expect(failure).toMatchObject({ code: 'INVALID_ENTRY', retryable: false });
      expect(appender.sent.length).toBe(0);
    },
  );

  it('says that the group does not exist, and starts again on a later publish', async () => {
    appender.answerWith = () => APPENDED;
    world.routing = () => {
      const answer = { request: 'GET x', httpStatus: 404, errorCode: 'GROUP_NOT_FOUND', message: '' };
      throw new CoordinatorRequestError({ ...answer, retryable: false });
    };
    const publisher = world.publisherOf();
    expect(await failureOf(publisher.publish('a', 'x'))).toBeInstanceOf(GroupNotFoundError);
    expect(await failureOf(publisher.publish('a', 'x'))).toBeInstanceOf(GroupNotFoundError);
    expect(world.routingCalls).toBe(1); // not one request per publish while it fails
    world.routing = () => routingOf(5);
    await clock.advance(100);
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
  });

  it('is refused after close', async () => {
    const publisher = world.publisherOf();
    await publisher.close();
    expect(await failureOf(publisher.publish('a', 'x'))).toMatchObject({ code: 'CLIENT_CLOSED' });
    expect(appender.closed).toBe(1);
  });

  it('says so when the stream has no shards', async () => {
    world.routing = () => routingOf(5, { shardCount: 0 });
    expect(await failureOf(world.publisherOf().publish('a', 'x'))).toMatchObject({
      code: 'NO_SHARDS',
      retryable: true,
    });
  });
});

describe('a stream that is missing', () => {
  it('has the route refreshed and the entry sent once more, along the new route', async () => {
    const publisher = world.publisherOf();
    const published = publisher.publish('order-1', 'x');
    await settle();
    world.routing = () => routingOf(6, { shardCount: 1 });
    await appender.sent[0]!.settle(MISSING);
    expect(world.routingCalls).toBe(2);
    expect(appender.sent.map(({ streamKey }) => streamKey)).toEqual(['orders:1', 'orders:0']);
    await appender.sent[1]!.settle(APPENDED);
    expect(await published).toMatchObject({ streamKey: 'orders:0', duplicatePossible: false });
  });

  it('fails the publish when it is missing again', async () => {
    appender.answerWith = () => MISSING;
    const failure = await failureOf(world.publisherOf().publish('order-1', 'x'));
    expect(failure).toMatchObject({ code: 'STREAM_MISSING', retryable: false, streamKey: 'orders:1' });
    expect(appender.sent.length).toBe(2);
    expect(world.routingCalls).toBe(2);
  });

  it('fails the publish as retryable when the route cannot be refreshed', async () => {
    const publisher = world.publisherOf();
    await publisher.start();
    appender.answerWith = () => MISSING;
    world.routing = () => Promise.reject(new Error('coordinator away'));
    const failure = await failureOf(publisher.publish('order-1', 'x'));
    expect(failure).toMatchObject({ code: 'STREAM_MISSING', retryable: true });
    expect(appender.sent.length).toBe(1);
  });
});

describe('the routing lease of a publisher', () => {
  it('expires during an outage of the coordinator: publish fails closed, and not before that', async () => {
    appender.answerWith = () => APPENDED;
    world.routing = () => routingOf(5, { leaseMs: 1_000, refreshMs: 200 });
    const publisher = world.publisherOf();
    await publisher.start();
    world.routing = () => Promise.reject(new Error('coordinator away'));
    await clock.advance(999);
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
    await clock.advance(1);
    const failure = await failureOf(publisher.publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'ROUTING_LEASE_EXPIRED', retryable: true });
    expect((failure.cause as Error).message).toBe('coordinator away');
    world.routing = () => routingOf(5);
    await clock.advance(5_000);
    expect((await publisher.publish('a', 'x')).id).toBe('1-1');
  });

  it('is refreshed soon after a consumer of the process saw a higher version', async () => {
    const publisher = world.publisherOf();
    await publisher.start();
    publisher.noteVersion(5);
    await clock.advance(100);
    expect(world.routingCalls).toBe(1);
    publisher.noteVersion(6);
    await clock.advance(100);
    expect(world.routingCalls).toBe(2);
  });

  it('is refreshed soon after a redirect', async () => {
    const publisher = world.publisherOf();
    await publisher.start();
    const cause = new Error('MOVED 8578 127.0.0.1:7001');
    appender.answerWith = () => ({ kind: 'REJECTED', redisCode: 'MOVED', retryable: true, cause });
    const failure = await failureOf(publisher.publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'PUBLISH_REJECTED', redisCode: 'MOVED', retryable: true });
    await clock.advance(100);
    expect(world.routingCalls).toBe(2);
  });
});

describe('an unknown outcome', () => {
  it('is sent once more, and the entry says that it may be there twice', async () => {
    const publisher = world.publisherOf();
    const published = publisher.publish('a', 'x');
    await settle();
    await appender.sent[0]!.settle(UNCERTAIN);
    await appender.sent[1]!.settle(APPENDED);
    expect(await published).toMatchObject({ id: '1-1', duplicatePossible: true });
  });

  it('fails the publish the second time, saying how often it was sent', async () => {
    appender.answerWith = () => UNCERTAIN;
    const failure = await failureOf(world.publisherOf().publish('a', 'x'));
    expect(failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 2, retryable: true });
    expect(appender.sent.length).toBe(2);
  });

  it.each<[string, AppendOutcome]>([
    ['refused', { kind: 'REJECTED', redisCode: 'OOM', retryable: true, cause: new Error('OOM command') }],
    ['missing', MISSING],
  ])('stays unknown when the second sending is %s', async (_, second) => {
    const publisher = world.publisherOf();
    const failure = failureOf(publisher.publish('a', 'x'));
    await settle();
    await appender.sent[0]!.settle(UNCERTAIN);
    appender.answerWith = () => second;
    await appender.sent[1]!.settle(second);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
  });

  it('stays unknown when the deadline passes before the second sending', async () => {
    const publisher = world.publisherOf({ publishTimeoutMs: 1_000 });
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
    const publisher = world.publisherOf({ publishTimeoutMs: 1_000 });
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
    const publisher = world.publisherOf();
    await publisher.start();
    appender.isReady = false;
    const failure = failureOf(publisher.publish('a', 'x', { timeoutMs: 70 }));
    await clock.advance(70);
    expect(await failure).toMatchObject({ code: 'PUBLISH_TIMEOUT' });
  });

  it('lets one that waits for a connection go on when it comes', async () => {
    const publisher = world.publisherOf();
    await publisher.start();
    appender.isReady = false;
    appender.answerWith = () => APPENDED;
    const published = publisher.publish('a', 'x');
    await settle();
    await appender.becomeReady();
    expect((await published).id).toBe('1-1');
  });

  it('leaves the outcome unknown when the entry was sent', async () => {
    const publisher = world.publisherOf({ publishTimeoutMs: 1_000 });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
    await appender.sent[0]!.settle(APPENDED); // too late: it changes nothing
  });

  it('covers a connection that claims to be ready and is not', async () => {
    const publisher = world.publisherOf({ publishTimeoutMs: 1_000 });
    appender.answerWith = () => ({ kind: 'NOT_SENT', cause: new Error('not writeable') });
    const failure = failureOf(publisher.publish('a', 'x'));
    await clock.advance(1_020);
    expect(await failure).toMatchObject({ code: 'PUBLISH_TIMEOUT' });
    expect(appender.sent.length).toBeLessThan(120); // it pauses between two tries
  });
});

describe('the signal of a publish', () => {
  it('ends it with its reason before it is sent', async () => {
    const publisher = world.publisherOf();
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
    const failure = failureOf(world.publisherOf().publish('a', 'x', { signal: controller.signal }));
    await settle();
    controller.abort(new Error('request cancelled'));
    expect(await failure).toMatchObject({ code: 'PUBLISH_UNCERTAIN', attempts: 1 });
    await appender.sent[0]!.settle(APPENDED);
  });
});
