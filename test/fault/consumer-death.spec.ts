import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ConsumerWorld, PATIENCE_MS, plainEntries, range } from './consumer-world';

const MAX_DELIVERIES = 3;

describe('a consumer process that dies', () => {
  let world: ConsumerWorld;

  beforeAll(async () => {
    world = await ConsumerWorld.start();
  });
  afterEach(() => world.clear());
  afterAll(() => world.stop());

  it('by SIGKILL: the next owner of each shard handles what was pending first, in order, and nothing is lost', async () => {
    const stage = await world.stage('killed', 2);
    const doomed = await stage.joined('doomed');
    const gate = stage.newFile();
    // It is at work on one entry while others of both shards lie in its memory.
    await stage.publish(0, [
      ...plainEntries(0, 3),
      { n: 3, kind: 'gate', file: gate },
      ...plainEntries(4, 10),
    ]);
    await doomed.until(
      'is at work on the entry at the gate',
      (lines) => lines.some(({ what, n }) => what === 'started' && n === 3),
      PATIENCE_MS,
    );
    const ofShard0 = [...(await stage.pending(0))];
    expect(ofShard0).toHaveLength(1);
    expect(ofShard0[0]![0]).toMatch(/^doomed-m0:/);
    expect(ofShard0[0]![1]).toBeGreaterThanOrEqual(7);

    await doomed.kill();
    expect(doomed.ends).toEqual([{ code: null, signal: 'SIGKILL' }]);
    expect(doomed.handled(0)).toEqual(range(0, 3));

    stage.createFile(gate);
    await stage.publish(0, plainEntries(10, 20));
    await stage.publish(1, plainEntries(0, 10));
    const heir = await stage.joined('heir');
    await heir.until(
      'has handled the rest',
      () => heir.handled(0).at(-1) === 19 && heir.handled(1).length === 10,
      PATIENCE_MS,
    );
    // Acks of the first three may have been on their way.
    const handled = heir.handled(0);
    expect(handled).toEqual(range(handled[0]!, 20));
    expect(handled[0]).toBeLessThanOrEqual(3);
    expect(heir.handled(1)).toEqual(range(0, 10));
    const first = heir.lines('handled').find(({ n, shard }) => n === 3 && shard === 0);
    expect(first?.deliveryCount).toBe(2);
    await stage.untilNothingPends([0, 1]);
    expect(await stage.deadLetters(0)).toEqual([]);
  });

  it('at the same entry each time: that one goes to the dead letters, its neighbours do not, and the shard goes on', async () => {
    const stage = await world.stage('poisoned', 1);
    const entries = [...plainEntries(0, 4), { n: 4, kind: 'exit' as const }, ...plainEntries(5, 10)];
    const ids = await stage.publish(0, entries);
    const consumer = stage.consumer('victim', { maxDeliveries: MAX_DELIVERIES }, { supervised: true });
    await consumer.until('handles what lies behind', () => consumer.handled(0).includes(9), 2 * PATIENCE_MS);
    await stage.publish(0, plainEntries(10, 15));
    await consumer.until('the shard goes on', () => consumer.handled(0).includes(14), PATIENCE_MS);

    expect(consumer.ends).toEqual(Array.from({ length: MAX_DELIVERIES }, () => ({ code: 1, signal: null })));
    const attempts = consumer.lines('started').filter(({ n }) => n === 4);
    expect(attempts.map(({ deliveryCount }) => deliveryCount)).toEqual([1, 2, 3]);
    expect(new Set(attempts.map(({ pid }) => pid)).size).toBe(MAX_DELIVERIES);
    expect(await stage.deadLetters(0)).toEqual([
      expect.objectContaining({
        ...{ originalId: ids[4], originalStream: stage.streamKey(0), consumerGroup: stage.group },
        ...{ reason: 'MAX_DELIVERIES', deliveryCount: String(MAX_DELIVERIES), n: '4', kind: 'exit' },
      }),
    ]);
    expect([...new Set(consumer.handled(0))]).toEqual([...range(0, 4), ...range(5, 15)]);
    await stage.untilNothingPends([0]);
  });
});
