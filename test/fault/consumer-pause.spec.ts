import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConsumerLine } from '../support/consumer-process';
import { isFrozen } from '../support/process-state';
import { acksFrom, readsBy, RedisMonitor, type SeenCommand } from '../support/redis-monitor';
import { ConsumerWorld, PATIENCE_MS, plainEntries, range } from './consumer-world';

/** Published to a process that goes on: by the time it has handled them, it has had every chance to go on with its old work. */
const WOKEN_ENTRIES = 10;

describe('a consumer process that is stopped past its lease, and goes on', () => {
  let world: ConsumerWorld;
  let monitor: RedisMonitor;

  beforeAll(async () => {
    world = await ConsumerWorld.start();
    monitor = await RedisMonitor.attach(world.redis);
  });
  afterEach(() => world.clear());
  afterAll(async () => {
    monitor.detach();
    await world.stop();
  });

  const firstReadBy = (memberId: string, streamKey: string): SeenCommand => {
    const own = readsBy(monitor.seen, (consumer) => consumer.startsWith(`${memberId}:`));
    const first = own.find(({ parts }) => parts.includes(streamKey));
    if (first === undefined) throw new Error(`${memberId} never read ${streamKey}`);
    return first;
  };

  it('while a read blocks and an entry is in hand: nothing of the old tenure is read or acked, and it rejoins', async () => {
    const stage = await world.stage('paused', 2);
    const sleeper = await stage.joined('sleeper');
    const gate = stage.newFile();
    await stage.publish(0, [
      ...plainEntries(0, 3),
      { n: 3, kind: 'gate', file: gate },
      ...plainEntries(4, 8),
    ]);
    await sleeper.until(
      'is at work on the entry at the gate',
      (lines) => lines.some(({ what, n }) => what === 'started' && n === 3),
      PATIENCE_MS,
    );
    await stage.untilReadBlocks(sleeper);
    const addresses = new Set((await stage.connections('sleeper')).map(({ address }) => address));
    expect(addresses.size).toBeGreaterThanOrEqual(2);
    const oldName = [...(await stage.pending(0)).keys()][0]!;
    expect(oldName).toMatch(/^sleeper-m0:\d+$/);
    const oldTokens = sleeper.lines('assigned').map(({ fencingToken }) => fencingToken!);
    const isOld = ({ fencingToken = 0 }: ConsumerLine): boolean => oldTokens.includes(fencingToken);

    await sleeper.freeze();
    await monitor.catchUp();
    const seenBefore = monitor.seen.length;
    stage.createFile(gate);
    await stage.publish(0, plainEntries(8, 12)); // inside its lease: its blocked read may still take some
    const heir = await stage.joined('heir');
    await heir.until(
      'owns both shards',
      () => new Set(heir.lines('assigned').map(({ shard }) => shard)).size === 2,
      PATIENCE_MS,
    );
    await stage.publish(0, plainEntries(12, 20));
    await stage.publish(1, plainEntries(0, 10));
    await heir.until(
      'has handled everything',
      () => heir.handled(0).at(-1) === 19 && heir.handled(1).length === 10,
      PATIENCE_MS,
    );
    expect(isFrozen(sleeper.pid)).toBe(true);
    expect((await stage.connections('sleeper')).some(({ blocks }) => blocks)).toBe(false);
    const handledByHeir = heir.handled(0);
    expect(handledByHeir).toEqual(range(handledByHeir[0]!, 20));
    expect(handledByHeir[0]).toBeLessThanOrEqual(3);
    expect(heir.handled(1)).toEqual(range(0, 10));

    await monitor.catchUp();
    const thawedAt = monitor.seen.length;
    const linesBefore = sleeper.lines().length;
    sleeper.thaw();
    await sleeper.until(
      'has joined anew and owns a shard',
      (lines) => lines.slice(linesBefore).some(({ what }) => what === 'assigned'),
      PATIENCE_MS,
    );
    const shard = sleeper.lines('assigned').at(-1)!.shard!;
    const next = shard === 0 ? 20 : 10;
    await stage.publish(shard, plainEntries(next, next + WOKEN_ENTRIES));
    await sleeper.until(
      'handles what is new',
      () => sleeper.handled(shard).at(-1) === next + WOKEN_ENTRIES - 1,
      PATIENCE_MS,
    );
    await stage.untilNothingPends([0, 1]);
    await monitor.catchUp();

    // Of the old tenure: nothing was read or acked while it was stopped, so after another was granted its shards,
    // and nothing after it went on.
    expect(readsBy(monitor.seen.slice(seenBefore), (consumer) => consumer === oldName)).toEqual([]);
    expect(acksFrom(monitor.seen.slice(seenBefore, thawedAt), addresses)).toEqual([]);
    for (const index of [0, 1]) {
      const granted = monitor.seen.indexOf(firstReadBy('heir-m0', stage.streamKey(index)));
      expect(granted).toBeGreaterThan(seenBefore);
      expect(granted).toBeLessThan(thawedAt);
    }
    // What its process acked since is what its new tenure handled, with a new epoch.
    const lost = sleeper.lines().findIndex(({ what }) => what === 'leaseLost' || what === 'fenced');
    expect(lost).toBeGreaterThanOrEqual(0);
    const sinceThawed = sleeper.lines().slice(linesBefore);
    const newWork = sinceThawed.filter(({ what }) => what === 'started');
    expect(newWork.filter(isOld)).toEqual([]);
    const newIds = new Set(newWork.map(({ id }) => id));
    expect(newIds.size).toBe(WOKEN_ENTRIES);
    const current = await stage.connections('sleeper');
    const everSleepers = new Set([...addresses, ...current.map(({ address }) => address)]);
    const ackedSince = acksFrom(monitor.seen.slice(thawedAt), everSleepers).flatMap(({ parts }) =>
      parts.slice(2),
    );
    expect([...new Set(ackedSince)].sort()).toEqual([...newIds].sort());
    const newNames = new Set(
      readsBy(monitor.seen.slice(thawedAt), (consumer) => consumer.startsWith('sleeper-m0:')).map(
        ({ parts }) => parts[2]!,
      ),
    );
    expect([...newNames].every((name) => epochOf(name) > epochOf(oldName))).toBe(true);
    expect(newNames.size).toBeGreaterThan(0);
    // The handler at the gate may return after all: nobody hears of it.
    const stale = sinceThawed.filter((line) => line.what === 'handled' && isOld(line));
    expect(stale.every(({ n }) => n === 3)).toBe(true);
  });
});

function epochOf(consumer: string): number {
  return Number(consumer.slice(consumer.lastIndexOf(':') + 1));
}
