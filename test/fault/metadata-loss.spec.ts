import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { StreamClientError, StreamPublisher } from '../../src/client';
import type { GroupsPage } from '../../src/protocol';
import type { ConsumerProcess } from '../support/consumer-process';
import { heartbeatOf } from '../support/coordinator-calls';
import { metricFrom } from '../support/coordinator-readings';
import { waitUntil } from '../support/redis-server';
import { groupKeyOf, STORED_KEYS } from '../support/stored-group';
import { type ConsumerStage, CONSUMER_TIMING, ConsumerWorld, PATIENCE_MS, range } from './consumer-world';
import { METADATA_FAULTS, type MetadataFault } from './metadata-faults';
import { PublisherTraffic } from './publisher-traffic';
import { strayWork } from './shard-use';

const { leaseTtlMs } = CONSUMER_TIMING;
const ROUTING_LEASE_MS = 2_000;
/** What was sent while the routing lease held may be answered a little later. */
const SLACK_MS = 1_000;
const SHARDS = 2;
const GO_ON_FOR = 20;
const ENVIRONMENT = {
  COORD_ROUTING_LEASE_MS: String(ROUTING_LEASE_MS),
  COORD_ROUTING_REFRESH_MS: '300',
  COORD_LOCK_TTL_MS: '2000',
};

describe('a group with a live consumer and a publisher', () => {
  let world: ConsumerWorld;
  let publisher: StreamPublisher;
  let traffic: PublisherTraffic;
  let stages = 0;

  beforeAll(async () => {
    world = await ConsumerWorld.start({}, ENVIRONMENT);
  });
  afterEach(async () => {
    await traffic.stop();
    await publisher.close();
    await world.clear();
  });
  afterAll(() => world.stop());

  const atWork = async (): Promise<readonly [ConsumerStage, ConsumerProcess]> => {
    stages += 1;
    const stage = await world.stage(`lost-${stages}`, SHARDS);
    publisher = new StreamPublisher({
      ...{ coordinatorUrl: stage.coordinatorUrl, redis: world.redis.url, onError: () => undefined },
      ...{ streamPrefix: stage.streamPrefix, consumerGroup: stage.group },
    });
    traffic = new PublisherTraffic(publisher);
    const consumer = await stage.joined('reader');
    await consumer.until('reads all', () => consumer.lines('assigned').length === SHARDS, PATIENCE_MS);
    traffic.start();
    await consumer.until('works', () => consumer.lines('handled').length >= GO_ON_FOR, PATIENCE_MS);
    return [stage, consumer];
  };

  const keyOf = ({ streamPrefix, group }: ConsumerStage) => groupKeyOf(streamPrefix, group);
  /** What lies under the key, however it is spoilt; null: nothing. */
  const stored = (stage: ConsumerStage) => world.redis.cli('DUMP', STORED_KEYS.metadata(keyOf(stage)));
  const listed = async (): Promise<GroupsPage> =>
    (await world.coordinator.call('GET', '/coord/v1/monitoring/groups')).body as GroupsPage;
  const lastWorkMs = (consumer: ConsumerProcess): number => consumer.lines('handled').at(-1)?.atMs ?? 0;

  /** Every kind of request, by somebody else. */
  const expectRefusals = async (stage: ConsumerStage, { httpStatus, errorCode }: MetadataFault) => {
    const path = `/coord/v1/streams/${stage.streamPrefix}/groups/${stage.group}`;
    const why = { requestedBy: 'test', reason: 'test' };
    const requests: readonly (readonly [string, string, unknown?])[] = [
      ['GET', path],
      ['GET', `${path}/producer-routing`],
      ['POST', `${path}/members/stranger/heartbeat`, heartbeatOf('stranger')],
      ['POST', `${path}/members/stranger/heartbeat`, heartbeatOf('stranger', { memberEpoch: 5 })],
      ['POST', `${path}/members/stranger/heartbeat`, heartbeatOf('stranger', { memberEpoch: -1 })],
      ['DELETE', `${path}/members/reader-m0`, why],
    ];
    // To create a group that is missing is its cure.
    const create = [['POST', path, { ...why, initialShardCount: SHARDS }]] as const;
    for (const [method, target, body] of httpStatus === 404 ? requests : [...requests, ...create]) {
      const { status, body: refusal } = await world.coordinator.call(method, target, body);
      expect([method, target, status, refusal]).toEqual([
        ...[method, target, httpStatus],
        expect.objectContaining({ errorCode }),
      ]);
    }
  };

  /** The consumer reads to the end of its lease, the publisher publishes to the end of its own, neither does any more then. */
  const expectFailedClosed = async (consumer: ConsumerProcess, faultMs: number): Promise<void> => {
    await consumer.until('stops', () => consumer.lines('leaseLost').length > 0, PATIENCE_MS);
    expect(lastWorkMs(consumer)).toBeLessThanOrEqual(consumer.lines('leaseLost')[0]!.atMs);
    const published = traffic.publishes.length;
    await waitUntil('publishes fail', PATIENCE_MS, () =>
      traffic.publishes.slice(published).some(({ id }) => id === null),
    );
    const silentFromMs = Math.max(faultMs + Math.max(leaseTtlMs, ROUTING_LEASE_MS) + SLACK_MS, Date.now());
    await waitUntil('another lease has passed', PATIENCE_MS, () => Date.now() > silentFromMs + leaseTtlMs);
    expect(traffic.publishedSince(silentFromMs)).toEqual([]);
    expect(lastWorkMs(consumer)).toBeLessThan(silentFromMs);
    expect(traffic.failures.filter(({ error }) => !(error instanceof StreamClientError))).toEqual([]);
  };

  it.each(METADATA_FAULTS)(
    'whose metadata $name: fails closed, and goes on once an operator made it anew',
    async (fault) => {
      const [stage, consumer] = await atWork();
      const { streamPrefix, group: consumerGroup } = stage;
      const countedBefore = await metricFrom(world.coordinator, fault.metric);
      await fault.cause(world.redis, keyOf(stage));
      const faultMs = Date.now();
      const left = fault.httpStatus === 404 ? null : await stored(stage);

      await expectFailedClosed(consumer, faultMs);
      await expectRefusals(stage, fault);
      expect(await stored(stage)).toEqual(left);
      if (fault.losesAll === true) {
        expect(
          await world.redis.cli('EXISTS', ...range(0, SHARDS).map((shard) => stage.streamKey(shard))),
        ).toBe(0);
      }
      const { groups, unreadable = [] } = await listed();
      const isThis = (group: { readonly streamPrefix: string }): boolean =>
        group.streamPrefix === streamPrefix;
      expect(groups.filter(isThis)).toEqual([]);
      expect(unreadable.filter(isThis)).toEqual(
        left === null
          ? []
          : [expect.objectContaining({ streamPrefix, consumerGroup, errorCode: fault.errorCode })],
      );
      expect(await metricFrom(world.coordinator, fault.metric)).toBeGreaterThan(countedBefore);
      expect(consumer.lines('groupMissing').length > 0).toBe(left === null);

      // What cannot be read is never overwritten: the operator takes it away.
      if (left !== null) await world.redis.cli('DEL', STORED_KEYS.metadata(keyOf(stage)));
      const createdMs = Date.now();
      await world.coordinator.createGroup({ streamPrefix, consumerGroup }, SHARDS);
      await consumer.until(
        'reads again',
        () => consumer.lines('assigned').length === 2 * SHARDS,
        PATIENCE_MS,
      );
      const [before, after] = [0, SHARDS].map((from) =>
        consumer.lines('assigned').slice(from, from + SHARDS),
      );
      for (const { atMs, fencingToken } of after!) {
        expect(atMs).toBeGreaterThanOrEqual(createdMs + leaseTtlMs);
        expect(fencingToken).toBeGreaterThan(Math.max(...before!.map((line) => line.fencingToken!)));
      }
      await traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);
      await traffic.stop();
      const sinceMs = fault.losesAll === true ? createdMs : 0;
      const expected = traffic.publishedSince(sinceMs).map(({ n }) => n);
      const handled = (): ReadonlySet<unknown> => new Set(consumer.lines('handled').map(({ n }) => n));
      await consumer.until('all is handled', () => expected.every((n) => handled().has(n)), PATIENCE_MS);
      expect(strayWork(consumer.lines())).toEqual([]);
    },
  );

  it('whose index is deleted: nobody notices, and the next write puts it back', async () => {
    const [stage, consumer] = await atWork();
    const { streamPrefix, group: consumerGroup } = stage;
    await world.redis.cli('DEL', STORED_KEYS.index);
    const lostMs = Date.now();
    await waitUntil('a lease has passed', PATIENCE_MS, () => Date.now() > lostMs + leaseTtlMs);
    await traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);
    const create = await world.coordinator.call(
      'POST',
      `/coord/v1/streams/${streamPrefix}/groups/${consumerGroup}`,
      {
        requestedBy: 'test',
      },
    );
    expect(create).toMatchObject({ status: 409, body: { errorCode: 'GROUP_ALREADY_EXISTS' } });
    await stage.joined('second');
    const names = async (): Promise<readonly string[]> =>
      (await listed()).groups.map((group) => group.streamPrefix);
    await waitUntil('it is listed', PATIENCE_MS, async () => (await names()).includes(streamPrefix));
    expect(consumer.lines().filter(({ what }) => what === 'leaseLost' || what === 'fenced')).toEqual([]);
    expect(traffic.failures).toEqual([]);
  });

  it('beside which the index names one that does not exist: it is forgotten, and nothing is made of it', async () => {
    await atWork();
    await world.redis.cli('ZADD', STORED_KEYS.index, 0, 'ghost:workers');
    await waitUntil('the ghost is gone', PATIENCE_MS, async () => {
      return (await world.redis.cli('ZSCORE', STORED_KEYS.index, 'ghost:workers')) === null;
    });
    expect((await listed()).groups.filter(({ streamPrefix }) => streamPrefix === 'ghost')).toEqual([]);
    const ghosts = groupKeyOf('ghost', 'workers');
    expect(await world.redis.cli('EXISTS', STORED_KEYS.metadata(ghosts), 'ghost:0')).toBe(0);
    await traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);
  });
});
