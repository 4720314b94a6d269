import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConsumerLine } from '../support/consumer-process';
import { CoordinatorFront } from '../support/coordinator-front';
import { RedisMonitor } from '../support/redis-monitor';
import { CONSUMER_TIMING, ConsumerWorld, PATIENCE_MS, plainEntries, range } from './consumer-world';

const MAX_DELIVERIES = 3;
const QUICK_RETRIES = { maxDeliveries: MAX_DELIVERIES, retryBackoff: { firstMs: 10, maxMs: 50 } };

describe('a handler', () => {
  let world: ConsumerWorld;
  let front: CoordinatorFront;

  beforeAll(async () => {
    world = await ConsumerWorld.start();
    front = await CoordinatorFront.start(world.coordinator.baseUrl);
  });
  afterEach(() => world.clear());
  afterAll(async () => {
    await front.stop();
    await world.stop();
  });

  describe('that never returns, and ignores its signal', () => {
    /** One consumer owns both shards and hangs in shard 1; then the others join, the first of which is to have shard 1. */
    const hang = async (streamPrefix: string, others: readonly string[]) => {
      const stage = await world.stage(streamPrefix, 2);
      stage.coordinatorUrl = front.url;
      const stuck = await stage.joined('stuck');
      await stage.publish(1, [...plainEntries(0, 2), { n: 2, kind: 'hang' }, ...plainEntries(3, 6)]);
      await stuck.until(
        'hangs',
        (lines) => lines.some(({ what, n }) => what === 'started' && n === 2),
        PATIENCE_MS,
      );
      const hungAt = stuck.lines('started').at(-1)!;
      const joining = [];
      for (const memberId of others) joining.push(await stage.joined(memberId));
      await stuck.until('lost its tenure', (lines) => lines.some(isTenureEnd), PATIENCE_MS);

      const [aborted] = stuck.lines('aborted');
      expect(aborted).toMatchObject({ shard: 1, n: 2, fencingToken: hungAt.fencingToken });
      const ended = stuck.lines().find(isTenureEnd)!;
      expect(ended.atMs).toBeGreaterThanOrEqual(aborted!.atMs);
      // Heartbeats went on while it hung, and kept its lease up.
      const beats = front.exchanges.filter(
        ({ path, status, cameMs }) =>
          path.includes('/stuck-m0/') && status === 200 && cameMs > hungAt.atMs && cameMs < ended.atMs,
      );
      expect(beats.length).toBeGreaterThanOrEqual(3);
      expect(ended.atMs - hungAt.atMs).toBeGreaterThan(CONSUMER_TIMING.leaseTtlMs);
      for (const consumer of joining) {
        expect(consumer.lines('assigned').filter(({ atMs }) => atMs < aborted!.atMs)).toEqual([]);
      }
      return { stage, stuck, joining, oldToken: hungAt.fencingToken! };
    };
    const isTenureEnd = ({ what }: ConsumerLine): boolean => what === 'fenced' || what === 'leaseLost';

    it('loses its shard to another process, which handles what is pending first', async () => {
      const { stage, stuck, joining, oldToken } = await hang('hanging', ['heir', 'other']);
      const [heir, other] = joining;
      await heir!.until('has handled shard 1', () => heir!.handled(1).includes(5), PATIENCE_MS);
      const taken = heir!.lines('handled').find(({ n }) => n === 2);
      expect(taken).toMatchObject({ shard: 1, deliveryCount: 2 });
      expect(taken!.fencingToken).toBeGreaterThan(oldToken);
      expect(heir!.handled(1)).toEqual(range(heir!.handled(1)[0]!, 6));
      await stage.publish(0, plainEntries(0, 5));
      await other!.until('has shard 0', () => other!.handled(0).length === 5, PATIENCE_MS);
      await stage.untilNothingPends([0, 1]);
      expect(stuck.handled(1)).toEqual(range(0, 2));
    });

    it('gets its shard back in a new tenure, and works on beside what never ends', async () => {
      const { stage, stuck, joining, oldToken } = await hang('returning', ['heir']);
      const [heir] = joining;
      await stuck.until('has handled shard 1', () => stuck.handled(1).includes(5), PATIENCE_MS);
      const taken = stuck.lines('handled').find(({ n }) => n === 2);
      expect(taken).toMatchObject({ shard: 1, deliveryCount: 2 });
      expect(taken!.fencingToken).toBeGreaterThan(oldToken);
      expect([...new Set(stuck.handled(1))]).toEqual(range(0, 6));
      await stage.publish(0, plainEntries(0, 5));
      await heir!.until('has shard 0', () => heir!.handled(0).length === 5, PATIENCE_MS);
      await stage.untilNothingPends([0, 1]);
    });
  });

  it('that throws: the same entry again, and no other before it, then the dead letters', async () => {
    const stage = await world.stage('throwing', 1);
    const consumer = await stage.joined('thrower', QUICK_RETRIES);
    const entries = [...plainEntries(0, 2), { n: 2, kind: 'throw' as const }, ...plainEntries(3, 6)];
    const ids = await stage.publish(0, entries);
    await consumer.until('goes on', () => consumer.handled(0).includes(5), PATIENCE_MS);

    expect(consumer.lines('started').map(({ n }) => n)).toEqual([0, 1, 2, 2, 2, 3, 4, 5]);
    const attempts = consumer.lines('started').filter(({ n }) => n === 2);
    expect(attempts.map(({ deliveryCount }) => deliveryCount)).toEqual([1, 2, 3]);
    const letters = await stage.deadLetters(0);
    expect(letters).toEqual([
      expect.objectContaining({ originalId: ids[2], reason: 'MAX_DELIVERIES', n: '2', kind: 'throw' }),
    ]);
    expect(letters[0]).toMatchObject({
      error: 'TypeError: this entry is never liked',
      deliveryCount: String(MAX_DELIVERIES),
    });
    await stage.untilNothingPends([0]);
  });

  it('that throws RetryableError: the shard waits, beyond maxDeliveries, until it can be handled', async () => {
    const stage = await world.stage('retrying', 1);
    const consumer = await stage.joined('retrier', QUICK_RETRIES);
    const downstream = stage.newFile();
    await stage.publish(0, [{ n: 0, kind: 'downstream', file: downstream }, ...plainEntries(1, 5)]);
    await consumer.until(
      'has tried far more often than maxDeliveries',
      (lines) => lines.filter(({ what }) => what === 'started').length > 4 * MAX_DELIVERIES,
      PATIENCE_MS,
    );
    expect(consumer.lines('started').every(({ n }) => n === 0)).toBe(true);
    expect(await stage.deadLetters(0)).toEqual([]);

    stage.createFile(downstream);
    await consumer.until('goes on', () => consumer.handled(0).length === 5, PATIENCE_MS);
    expect(consumer.handled(0)).toEqual(range(0, 5));
    expect(consumer.lines('started').every(({ deliveryCount }) => deliveryCount === 1)).toBe(true);
    await stage.untilNothingPends([0]);
    expect(await stage.deadLetters(0)).toEqual([]);
  });

  it('that throws NonRetryableError: straight to the dead letters, and acknowledged in the same step', async () => {
    const stage = await world.stage('refusing', 1);
    const consumer = await stage.joined('refuser', QUICK_RETRIES);
    const monitor = await RedisMonitor.attach(world.redis);
    try {
      const [refused] = await stage.publish(0, [{ n: 0, kind: 'refuse' }, ...plainEntries(1, 5)]);
      await consumer.until('goes on', () => consumer.handled(0).length === 4, PATIENCE_MS);
      await stage.untilNothingPends([0]);
      await monitor.catchUp();

      expect(consumer.lines('started').map(({ n }) => n)).toEqual(range(0, 5));
      expect(await stage.deadLetters(0)).toEqual([
        expect.objectContaining({ originalId: refused, reason: 'NON_RETRYABLE', deliveryCount: '1', n: '0' }),
      ]);
      const letterKey = `{${stage.streamKey(0)}}:dlq`;
      const written = monitor.seen.findIndex(({ name, parts }) => name === 'XADD' && parts[0] === letterKey);
      expect(monitor.seen.slice(written, written + 2)).toEqual([
        expect.objectContaining({ name: 'XADD', source: 'lua' }),
        expect.objectContaining({
          ...{ name: 'XACK', source: 'lua', parts: [stage.streamKey(0), stage.group, refused] },
        }),
      ]);
      const others = monitor.seen.filter(({ name, parts }) => name === 'XACK' && parts.includes(refused!));
      expect(others).toHaveLength(1);
    } finally {
      monitor.detach();
    }
  });
});
