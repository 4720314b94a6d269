import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConsumerLine, ConsumerProcess } from '../support/consumer-process';
import { CoordinatorFront, type FrontFault } from '../support/coordinator-front';
import { isFrozen } from '../support/process-state';
import { acksFrom, readsBy, RedisMonitor } from '../support/redis-monitor';
import {
  type ConsumerStage,
  CONSUMER_TIMING,
  ConsumerWorld,
  PATIENCE_MS,
  plainEntries,
  range,
} from './consumer-world';

const { leaseTtlMs, heartbeatIntervalMs } = CONSUMER_TIMING;
/** What is sent right before the end of the lease arrives a little later, and the front sees a heartbeat a little late. */
const SLACK_MS = 500;
/** So long that no machine is too slow to come back within it. */
const LONG_LEASE_MS = 10_000;

const isTrouble = ({ what }: ConsumerLine): boolean =>
  what === 'leaseLost' || what === 'fenced' || what === 'revoked';

describe('a consumer whose coordinator is away for less than the lease', () => {
  let world: ConsumerWorld;

  beforeAll(async () => {
    world = await ConsumerWorld.start(
      {},
      {
        COORD_MEMBER_LEASE_TTL_MS: String(LONG_LEASE_MS),
        COORD_REBALANCE_TIMEOUT_MS: String(LONG_LEASE_MS),
      },
    );
  });
  afterAll(() => world.stop());

  it('reads, handles and acks on as if nothing had happened', async () => {
    const stage = await world.stage('brief', 2);
    const consumer = await stage.joined('steady');
    await stage.publish(0, plainEntries(0, 3));
    await consumer.until('works', () => consumer.handled(0).length === 3, PATIENCE_MS);
    const [reader] = (await world.redis.cli(
      'XINFO',
      'CONSUMERS',
      stage.streamKey(0),
      stage.group,
    )) as string[][];

    world.coordinator.freeze();
    const frozenMs = Date.now();
    // Longer than several heartbeats wait.
    for (let n = 3; Date.now() < frozenMs + 4 * heartbeatIntervalMs; n += 1) {
      await stage.publish(n % 2, [{ n }]);
      await consumer.until(`handles ${n}`, () => consumer.handled(n % 2).at(-1) === n, PATIENCE_MS);
    }
    await stage.untilNothingPends([0, 1]);
    expect(isFrozen(world.coordinator.pid)).toBe(true);
    expect(consumer.lines().filter(isTrouble)).toEqual([]);

    world.coordinator.thaw();
    await stage.publish(0, [{ n: 1_000 }]);
    await consumer.until('works on', () => consumer.handled(0).includes(1_000), PATIENCE_MS);
    const tokens = consumer.lines('handled').map(({ fencingToken }) => fencingToken);
    expect(new Set(tokens).size).toBeLessThanOrEqual(2); // of two shards, each granted once
    const after = (await world.redis.cli(
      'XINFO',
      'CONSUMERS',
      stage.streamKey(0),
      stage.group,
    )) as string[][];
    expect(after.map((properties) => properties[1])).toEqual([reader?.[1]]);
    expect(consumer.lines().filter(isTrouble)).toEqual([]);
  });
});

describe('a consumer whose coordinator is away for longer than the lease, or answers what it should not', () => {
  let world: ConsumerWorld;
  let front: CoordinatorFront;
  let monitor: RedisMonitor;

  beforeAll(async () => {
    world = await ConsumerWorld.start();
    front = await CoordinatorFront.start(world.coordinator.baseUrl);
    monitor = await RedisMonitor.attach(world.redis);
  });
  afterEach(async () => {
    await world.clear();
    front.turnOff();
  });
  afterAll(async () => {
    monitor.detach();
    await front.stop();
    await world.stop();
  });

  const isItsName = (name: string): boolean => name.startsWith('reader-m0:');

  const working = async (streamPrefix: string): Promise<[ConsumerStage, ConsumerProcess]> => {
    const stage = await world.stage(streamPrefix, 1);
    stage.coordinatorUrl = front.url;
    const consumer = await stage.joined('reader');
    await stage.publish(0, plainEntries(0, 3));
    await consumer.until('works', () => consumer.handled(0).length === 3, PATIENCE_MS);
    await stage.untilReadBlocks(consumer);
    return [stage, consumer];
  };

  /** From the beginning of the outage: reads on, stops with its lease, leaves nothing in Redis. */
  const watchItStop = async (stage: ConsumerStage, consumer: ConsumerProcess): Promise<void> => {
    await stage.publish(0, plainEntries(3, 6));
    await consumer.until(
      'its lease ends',
      (lines) => lines.some(({ what }) => what === 'leaseLost'),
      PATIENCE_MS,
    );
    // Counted from when it sent the last heartbeat that was answered, which is when the front got it, or a little before.
    const leaseEndMs = front.lastHeartbeatMs + leaseTtlMs;
    expect(consumer.lines('leaseLost')[0]!.atMs).toBeGreaterThan(leaseEndMs - SLACK_MS);
    expect(consumer.handled(0)).toEqual(range(0, 6));
    expect(consumer.lines('handled').at(-1)!.atMs).toBeLessThan(leaseEndMs);
    await monitor.catchUp();
    const addresses = new Set((await stage.connections('reader')).map(({ address }) => address));
    const own = [...readsBy(monitor.seen, isItsName), ...acksFrom(monitor.seen, addresses)];
    const onShard = own.filter(({ parts }) => parts.includes(stage.streamKey(0)));
    expect(onShard.length).toBeGreaterThan(0);
    expect(onShard.filter(({ atMs }) => atMs > leaseEndMs + SLACK_MS)).toEqual([]);
    expect((await stage.connections('reader')).filter(({ blocks }) => blocks)).toEqual([]);
  };

  /** Published while nobody may read: until it is back, nothing is read or acked. */
  const watchItRecover = async (
    stage: ConsumerStage,
    consumer: ConsumerProcess,
    comeBack: () => void | Promise<void>,
  ): Promise<void> => {
    const addresses = new Set((await stage.connections('reader')).map(({ address }) => address));
    await monitor.catchUp();
    const from = monitor.seen.length;
    const failedSince = front.exchanges.length;
    await stage.publish(0, plainEntries(6, 12));
    await consumer.until(
      'has asked several times in vain',
      () => front.exchanges.length >= failedSince + 3,
      PATIENCE_MS,
    );
    await monitor.catchUp();
    expect(readsBy(monitor.seen.slice(from), isItsName)).toEqual([]);
    expect(acksFrom(monitor.seen.slice(from), addresses)).toEqual([]);
    expect(consumer.handled(0)).toEqual(range(0, 6));

    await comeBack();
    await consumer.until('works again', () => consumer.handled(0).includes(11), PATIENCE_MS);
    expect(consumer.handled(0)).toEqual(range(0, 12));
    const [before, after] = consumer.lines('assigned');
    expect(after!.fencingToken).toBeGreaterThan(before!.fencingToken!);
    await stage.untilNothingPends([0]);
  };

  it.each<FrontFault>(['NOT_FOUND', 'SERVER_ERROR', 'GARBAGE', 'WRONG_SHAPE', 'HANG'])(
    '%s: it reads to the end of its lease, then stops, and comes back',
    async (fault) => {
      const [stage, consumer] = await working(fault.toLowerCase());
      front.turnOn(fault);
      await watchItStop(stage, consumer);
      expect(front.exchanges.some(({ answeredBy }) => answeredBy === fault)).toBe(true);
      expect(consumer.lines('groupMissing').length).toBe(fault === 'NOT_FOUND' ? 1 : 0);
      await watchItRecover(stage, consumer, () => front.turnOff());
    },
  );

  it('killed: it reads to the end of its lease, then stops, and comes back to another coordinator', async () => {
    const [stage, consumer] = await working('killed');
    await world.coordinator.kill();
    expect(world.coordinator.end).toMatchObject({ signal: 'SIGKILL' });
    await watchItStop(stage, consumer);
    await watchItRecover(stage, consumer, async () => {
      await world.replaceCoordinator();
      front.leadTo(world.coordinator.baseUrl);
    });
  });
});
