import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type PublishedEntry, RoutingLeaseExpiredError, StreamPublisher } from '../../src/client';
import { type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import { CoordinatorFront, type FrontFault } from '../support/coordinator-front';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { PATIENCE_MS } from './consumer-world';

const ROUTING = /\/producer-routing$/;
const ROUTING_LEASE_MS = 2_000;
const SLACK_MS = 500;
const consumerGroup = 'workers';

describe('a publisher', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorProcess;
  let front: CoordinatorFront;
  const publishers: StreamPublisher[] = [];

  const begin = async (routing: Readonly<Record<string, string>>): Promise<void> => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorProcess(redis.url, routing);
    await coordinator.waitForReadiness(200);
    front = await CoordinatorFront.start(coordinator.baseUrl);
  };
  const end = async (): Promise<void> => {
    await front.stop();
    await coordinator.stop();
    await redis.stop();
  };
  afterEach(async () => {
    front.turnOff();
    await Promise.all(publishers.splice(0).map((publisher) => publisher.close()));
  });

  const publisherOf = (streamPrefix: string): StreamPublisher => {
    const publisher = new StreamPublisher({
      ...{ coordinatorUrl: front.url, redis: redis.url, streamPrefix, consumerGroup },
    });
    publishers.push(publisher);
    return publisher;
  };
  const length = async (streamPrefix: string, shardCount: number): Promise<number> => {
    let sum = 0;
    for (let i = 0; i < shardCount; i += 1)
      sum += (await redis.cli('XLEN', `${streamPrefix}:${i}`)) as number;
    return sum;
  };

  describe('whose coordinator is away', () => {
    beforeAll(() =>
      begin({
        COORD_ROUTING_LEASE_MS: String(ROUTING_LEASE_MS),
        COORD_ROUTING_REFRESH_MS: '300',
      }),
    );
    afterAll(end);

    it.each<FrontFault>(['REFUSE', 'HANG', 'SERVER_ERROR', 'GARBAGE'])(
      '%s: it publishes to the end of its routing lease, then fails without writing, then goes on',
      async (fault) => {
        const streamPrefix = `orders-${fault.toLowerCase()}`;
        await coordinator.createGroup({ streamPrefix, consumerGroup }, 2);
        const publisher = publisherOf(streamPrefix);
        await publisher.publish('key', { n: '0' });

        front.turnOn(fault);
        let published = 1;
        let failure: unknown = null;
        await waitUntil('a publish fails', PATIENCE_MS, async () => {
          failure = await publisher.publish('key', { n: String(published) }).then(
            () => null,
            (error: unknown) => error,
          );
          if (failure === null) published += 1;
          return failure !== null;
        });
        expect(failure).toBeInstanceOf(RoutingLeaseExpiredError);
        expect(failure).toMatchObject({ code: 'ROUTING_LEASE_EXPIRED', retryable: true });
        // Counted from when the last refresh that was answered was sent, a little before the front got it.
        const refreshed = front.exchanges.findLast(
          ({ path, status, answeredBy }) =>
            ROUTING.test(path) && status === 200 && answeredBy === 'COORDINATOR',
        );
        expect(Date.now()).toBeGreaterThan(refreshed!.cameMs + ROUTING_LEASE_MS - SLACK_MS);
        expect(published).toBeGreaterThan(1);
        expect(front.exchanges.some(({ answeredBy }) => answeredBy === fault)).toBe(true);
        await expect(publisher.publish('key', { n: 'never' })).rejects.toBeInstanceOf(
          RoutingLeaseExpiredError,
        );
        expect(await length(streamPrefix, 2)).toBe(published);

        front.turnOff();
        let entry: PublishedEntry | null = null;
        await waitUntil('it publishes again', PATIENCE_MS, async () => {
          entry = await publisher.publish('key', { n: 'back' }).catch(() => null);
          return entry !== null;
        });
        expect(await length(streamPrefix, 2)).toBe(published + 1);
      },
    );
  });

  describe('with a stale route', () => {
    beforeAll(() => begin({ COORD_ROUTING_LEASE_MS: '300000', COORD_ROUTING_REFRESH_MS: '100000' }));
    afterAll(end);

    /** A key of the last shard. */
    const keyOfLastShard = async (publisher: StreamPublisher, shardCount: number): Promise<string> => {
      for (let n = 0; n < 1_000; n += 1) {
        const { shardIndex } = await publisher.publish(`key-${n}`, { n: 'probe' });
        if (shardIndex === shardCount - 1) return `key-${n}`;
      }
      throw new Error('no key of the last shard');
    };

    it('refreshes it once, sends the entry where it belongs now, and creates no stream', async () => {
      const path = `/coord/v1/streams/shrunk/groups/${consumerGroup}`;
      await coordinator.createGroup({ streamPrefix: 'shrunk', consumerGroup }, 4);
      const publisher = publisherOf('shrunk');
      const key = await keyOfLastShard(publisher, 4);
      const deleted = await coordinator.call('DELETE', path, {
        ...{ purgeStreams: true, requestedBy: 'test', reason: 'fewer shards' },
      });
      expect(deleted.status).toBe(200);
      await coordinator.createGroup({ streamPrefix: 'shrunk', consumerGroup }, 2);
      expect(await redis.cli('EXISTS', 'shrunk:3')).toBe(0);

      const before = front.count(ROUTING);
      const entry = await publisher.publish(key, { n: 'moved' });
      expect(front.count(ROUTING)).toBe(before + 1);
      expect(entry.shardIndex).toBeLessThan(2);
      expect(await redis.cli('EXISTS', 'shrunk:2', 'shrunk:3')).toBe(0);
      expect(await length('shrunk', 2)).toBe(1);
      await publisher.publish(key, { n: 'again' });
      expect(front.count(ROUTING)).toBe(before + 1);
    });

    it('that the coordinator confirms: says so after one refresh, and creates no stream', async () => {
      await coordinator.createGroup({ streamPrefix: 'cut', consumerGroup }, 2);
      const publisher = publisherOf('cut');
      const key = await keyOfLastShard(publisher, 2);
      expect(await redis.cli('DEL', 'cut:1')).toBe(1);
      const before = front.count(ROUTING);
      await expect(publisher.publish(key, { n: 'lost' })).rejects.toMatchObject({
        ...{ code: 'STREAM_MISSING', retryable: false },
      });
      expect(front.count(ROUTING)).toBe(before + 1);
      expect(await redis.cli('EXISTS', 'cut:1')).toBe(0);
    });
  });
});
