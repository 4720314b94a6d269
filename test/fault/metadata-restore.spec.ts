import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CoordinatorClient, StreamPublisher } from '../../src/client';
import { metricFrom } from '../support/coordinator-readings';
import { groupKeyOf, STORED_KEYS } from '../support/stored-group';
import { ConsumerWorld, PATIENCE_MS } from './consumer-world';
import { PublisherTraffic } from './publisher-traffic';
import { sharedUses, strayWork } from './shard-use';

const SHARDS = 2;
const GO_ON_FOR = 20;
const WHY = { requestedBy: 'test', reason: 'drill' };

describe('a group that is restored under traffic', () => {
  let world: ConsumerWorld;
  const closing: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    world = await ConsumerWorld.start({}, { COORD_LOCK_TTL_MS: '2000' });
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    await world.clear();
  });
  afterAll(() => world.stop());

  it('keeps its consumers at work, through a round to OK, and loses no entry', async () => {
    const stage = await world.stage('restored', SHARDS);
    const { streamPrefix, group } = stage;
    const address = { coordinatorUrl: stage.coordinatorUrl, streamPrefix, consumerGroup: group };
    const client = new CoordinatorClient({ coordinatorUrl: stage.coordinatorUrl });
    const publisher = new StreamPublisher({ ...address, redis: world.redis.url, onError: () => undefined });
    const traffic = new PublisherTraffic(publisher);
    closing.push(
      () => traffic.stop(),
      () => publisher.close(),
      () => client.close(),
    );
    const consumers = [await stage.joined('one'), await stage.joined('two')];
    for (const consumer of consumers) {
      await consumer.until('reads', () => consumer.lines('assigned').length > 0, PATIENCE_MS);
    }
    traffic.start();
    await traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);

    const document = await client.exportGroup(streamPrefix, group);
    await world.redis.cli('DEL', STORED_KEYS.metadata(groupKeyOf(streamPrefix, group)));
    const restored = await client.restoreGroup(streamPrefix, group, { ...WHY, document });
    expect(restored).toMatchObject({ streamPrefix, shardCount: SHARDS, correction: { cause: 'RESTORE' } });

    for (const consumer of consumers) {
      await consumer.until(
        'the round is over',
        () => consumer.lines('correction').some(({ state }) => state === 'ENDED'),
        PATIENCE_MS,
      );
    }
    await traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);
    await traffic.stop();
    const published = traffic.publishedSince(0).map(({ n }) => n);
    const handled = (): ReadonlySet<unknown> =>
      new Set(consumers.flatMap((consumer) => consumer.lines('handled').map(({ n }) => n)));
    await consumers[0]!.until('all is handled', () => published.every((n) => handled().has(n)), PATIENCE_MS);
    expect(traffic.unexplained).toEqual([]);
    for (const consumer of consumers) {
      expect([...consumer.lines('leaseLost'), ...consumer.lines('fenced')]).toEqual([]);
      expect(strayWork(consumer.lines())).toEqual([]);
    }
    expect(sharedUses(consumers.flatMap((consumer) => [...consumer.lines()]))).toEqual([]);
    expect((await client.explain(streamPrefix, group)).correction).toBeNull();
    expect(
      await metricFrom(world.coordinator, 'redis_stream_coord_metadata_regressions_total{cause="RESTORE"}'),
    ).toBe(1);
  });
});
