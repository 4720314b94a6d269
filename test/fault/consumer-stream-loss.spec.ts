import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConsumerLine, ConsumerProcess } from '../support/consumer-process';
import { ConsumerWorld, PATIENCE_MS, plainEntries, range } from './consumer-world';

const REPORT_INTERVAL_MS = 10_000;
/** Clocks tick in whole milliseconds. */
const ROUNDING_MS = 5;

describe('a consumer whose entries, stream or group are taken away', () => {
  let world: ConsumerWorld;

  beforeAll(async () => {
    world = await ConsumerWorld.start();
  });
  afterEach(() => world.clear());
  afterAll(() => world.stop());

  const hasStarted =
    (n: number, times = 1) =>
    (lines: readonly ConsumerLine[]): boolean =>
      lines.filter((line) => line.what === 'started' && line.n === n).length >= times;

  /** Trouble of one kind that was told again within 10 s: a storm for whoever logs it. */
  const repeatedErrors = (consumer: ConsumerProcess): readonly ConsumerLine[] => {
    const lastMs = new Map<string, number>();
    return consumer.lines('error').filter(({ message = '', atMs }) => {
      const isRepeated = atMs - (lastMs.get(message) ?? -Infinity) < REPORT_INTERVAL_MS - ROUNDING_MS;
      lastMs.set(message, atMs);
      return isRepeated;
    });
  };

  it('XDEL of entries that a dead owner left pending: acknowledged and counted, never handled', async () => {
    const stage = await world.stage('deleted', 1);
    const doomed = await stage.joined('doomed');
    const gate = stage.newFile();
    const ids = await stage.publish(0, [{ n: 0, kind: 'gate', file: gate }, ...plainEntries(1, 8)]);
    await doomed.until('is at the gate', hasStarted(0), PATIENCE_MS);
    expect([...(await stage.pending(0)).values()]).toEqual([8]);
    await doomed.kill();

    const deleted = [ids[0]!, ids[3]!, ids[4]!, ids[7]!];
    expect(await world.redis.cli('XDEL', stage.streamKey(0), ...deleted)).toBe(4);
    const heir = await stage.joined('heir');
    await stage.publish(0, plainEntries(8, 12));
    await heir.until('goes on', () => heir.handled(0).includes(11), PATIENCE_MS);
    await stage.untilNothingPends([0]);
    expect(heir.lines('started').map(({ n }) => n)).toEqual([1, 2, 5, 6, ...range(8, 12)]);
    await heir.stop();
    expect(heir.lines('stopped')[0]?.entries).toMatchObject({ deleted_pending: 4, acked: 12 });
    expect(await stage.deadLetters(0)).toEqual([]);
  });

  it('XDEL of an entry that is being retried: acknowledged and counted, and the shard goes on', async () => {
    const stage = await world.stage('withdrawn', 1);
    const consumer = await stage.joined('retrier', { retryBackoff: { firstMs: 10, maxMs: 50 } });
    const never = stage.newFile();
    const entries = [{ n: 0, kind: 'downstream' as const, file: never }, ...plainEntries(1, 5)];
    const [withdrawn] = await stage.publish(0, entries);
    await consumer.until('tries it again', hasStarted(0, 3), PATIENCE_MS);
    expect(await world.redis.cli('XDEL', stage.streamKey(0), withdrawn!)).toBe(1);
    await consumer.until('goes on', () => consumer.handled(0).length === 4, PATIENCE_MS);
    expect(consumer.handled(0)).toEqual(range(1, 5));
    await stage.untilNothingPends([0]);
    await consumer.stop();
    expect(consumer.lines('stopped')[0]?.entries).toMatchObject({ deleted_pending: 1, acked: 5 });
  });

  it('DEL of a stream while a read of it blocks: its shard waits, the other goes on, and it is read once it is back', async () => {
    const stage = await world.stage('removed', 2);
    const consumer = await stage.joined('reader');
    await stage.publish(0, plainEntries(0, 3));
    await consumer.until('has handled', () => consumer.handled(0).length === 3, PATIENCE_MS);
    await stage.untilNothingPends([0, 1]);
    await stage.untilReadBlocks(consumer);

    expect(await world.redis.cli('DEL', stage.streamKey(0))).toBe(1);
    await stage.publish(1, plainEntries(0, 5));
    await consumer.until('the other goes on', () => consumer.handled(1).length === 5, PATIENCE_MS);
    expect(await world.redis.cli('EXISTS', stage.streamKey(0))).toBe(0);
    await consumer.until(
      'tells which stream is gone',
      (lines) =>
        lines.some(({ what, message }) => what === 'error' && message?.includes(stage.streamKey(0)) === true),
      PATIENCE_MS,
    );

    await world.redis.cli('XGROUP', 'CREATE', stage.streamKey(0), stage.group, '0', 'MKSTREAM');
    await stage.publish(0, plainEntries(3, 8));
    await consumer.until('reads it again', () => consumer.handled(0).length === 8, PATIENCE_MS);
    await stage.publish(1, plainEntries(5, 10));
    await consumer.until('reads both', () => consumer.handled(1).length === 10, PATIENCE_MS);
    expect(consumer.handled(0)).toEqual(range(0, 8));
    expect(consumer.handled(1)).toEqual(range(0, 10));
    await stage.untilNothingPends([0, 1]);
    expect(consumer.lines().some(({ what }) => what === 'leaseLost' || what === 'fenced')).toBe(false);
    expect(repeatedErrors(consumer)).toEqual([]);
  });

  it('XGROUP DESTROY while a read blocks: its shard waits, the others go on, and it is read once the group is back', async () => {
    const stage = await world.stage('ungrouped', 3);
    const consumer = await stage.joined('reader');
    const ids = await stage.publish(1, plainEntries(0, 3));
    await consumer.until('has handled', () => consumer.handled(1).length === 3, PATIENCE_MS);
    await stage.untilNothingPends([0, 1, 2]);
    await stage.untilReadBlocks(consumer);

    expect(await world.redis.cli('XGROUP', 'DESTROY', stage.streamKey(1), stage.group)).toBe(1);
    await stage.publish(1, plainEntries(3, 6));
    await stage.publish(0, plainEntries(0, 5));
    await stage.publish(2, plainEntries(0, 5));
    await consumer.until(
      'the others go on',
      () => consumer.handled(0).length === 5 && consumer.handled(2).length === 5,
      PATIENCE_MS,
    );
    expect(await world.redis.cli('XINFO', 'GROUPS', stage.streamKey(1))).toEqual([]);
    expect(consumer.handled(1)).toEqual(range(0, 3));

    await world.redis.cli('XGROUP', 'CREATE', stage.streamKey(1), stage.group, ids[2]!);
    await consumer.until('reads it again', () => consumer.handled(1).length === 6, PATIENCE_MS);
    expect(consumer.handled(1)).toEqual(range(0, 6));
    await stage.untilNothingPends([0, 1, 2]);
    expect(consumer.lines().some(({ what }) => what === 'leaseLost' || what === 'fenced')).toBe(false);
    expect(repeatedErrors(consumer)).toEqual([]);
  });
});
