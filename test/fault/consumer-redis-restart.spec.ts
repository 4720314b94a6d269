import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsumerWorld, PATIENCE_MS, plainEntries, range } from './consumer-world';

/** Redis keeps what it has answered: otherwise lost entries would be its own doing. */
const DURABLE = { appendOnly: true };

describe('consumers while Redis is restarted', () => {
  let world: ConsumerWorld;

  beforeEach(async () => {
    world = await ConsumerWorld.start(DURABLE);
  });
  afterEach(() => world.stop());

  const runId = async (): Promise<string> => {
    const info = (await world.redis.cli('INFO', 'server')) as string;
    return /run_id:(\w+)/.exec(info)![1]!;
  };

  it.each([
    ['SIGTERM', false],
    ['SIGKILL', true],
  ])(
    'by %s, one with a blocked read, one at work: both go on in order, and nothing is lost',
    async (_, kill) => {
      const stage = await world.stage('restarted', 2);
      const first = await stage.joined('first');
      const second = await stage.joined('second');
      await second.until('has shard 1', () => second.lines('assigned').length > 0, PATIENCE_MS);
      const gate = stage.newFile();
      await stage.publish(0, [
        ...plainEntries(0, 3),
        { n: 3, kind: 'gate', file: gate },
        ...plainEntries(4, 8),
      ]);
      await stage.publish(1, plainEntries(0, 8));
      await first.until(
        'is at the gate',
        (lines) => lines.some(({ what, n }) => what === 'started' && n === 3),
        PATIENCE_MS,
      );
      await second.until('has handled its shard', () => second.handled(1).length === 8, PATIENCE_MS);
      await stage.untilReadBlocks(first);
      await stage.untilReadBlocks(second);
      const formerRun = await runId();

      await world.redis.restart({ kill });
      expect(await runId()).not.toBe(formerRun);
      stage.createFile(gate);
      await stage.publish(0, plainEntries(8, 16));
      await stage.publish(1, plainEntries(8, 16));
      // Whoever owns a shard in the end: a slow machine may cost a lease.
      const handled = (shard: number): readonly number[] =>
        [first, second]
          .flatMap((consumer) => consumer.lines('handled').filter((line) => line.shard === shard))
          .sort((a, b) => a.atMs - b.atMs)
          .map(({ n }) => n!);
      for (const shard of [0, 1]) {
        await first.until(
          `shard ${shard} is handled`,
          () => new Set(handled(shard)).size === 16,
          PATIENCE_MS,
        );
        expect([...new Set(handled(shard))]).toEqual(range(0, 16));
      }
      await stage.untilNothingPends([0, 1]);
      expect(await stage.deadLetters(0)).toEqual([]);

      await stage.untilReadBlocks(first);
      await stage.untilReadBlocks(second);
      const outcome = await Promise.all([first.stop(), second.stop()]);
      expect(outcome).toHaveLength(2);
      expect([...first.ends, ...second.ends]).toEqual([
        { code: 0, signal: null },
        { code: 0, signal: null },
      ]);
    },
  );
});
