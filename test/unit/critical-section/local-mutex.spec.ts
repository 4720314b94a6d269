import { beforeEach, describe, expect, it } from '@jest/globals';
import { LocalMutex } from '../../../src/critical-section/local-mutex';
import type { MutexBounds, Turn, Waiting } from '../../../src/critical-section/local-mutex';
import { FakeClock, settle } from '../../flow/critical-section/fake-clock';
import { groupKey, KEY } from '../../flow/critical-section/section-world';

const BOUNDS: MutexBounds = { maxBatch: 3, maxQueuedPerGroup: 4, maxQueuedTotal: 6, queueWaitMs: 1_000 };

class Item implements Waiting {
  error: unknown = null;
  constructor(readonly name: string) {}
  reject(error: unknown): void {
    this.error = error;
  }
}

interface Section {
  readonly turn: Turn<Item>;
  readonly names: () => string[];
  readonly end: () => Promise<void>;
}

describe('the local mutex', () => {
  let clock: FakeClock;
  let mutex: LocalMutex<Item>;
  let sections: Section[];

  beforeEach(() => {
    clock = new FakeClock();
    sections = [];
    mutex = new LocalMutex<Item>(BOUNDS, clock, (_key, turn) => {
      return new Promise((resolve) => {
        sections.push({
          turn,
          names: () => turn.items.map(({ name }) => name),
          end: () => {
            resolve();
            return settle();
          },
        });
      });
    });
  });

  function submit(...names: readonly string[]): Item[] {
    return names.map((name) => {
      const item = new Item(name);
      mutex.submit(KEY, item);
      return item;
    });
  }

  it('runs one section of a group at a time, and the whole queue in the next, in order', async () => {
    submit('a', 'b', 'c');
    expect(sections.map(({ names }) => names())).toEqual([['a']]);
    await sections[0]!.end();
    expect(sections.map(({ names }) => names())).toEqual([['a'], ['b', 'c']]);
  });

  it('takes at most a batch, and the rest afterwards', async () => {
    submit('a', 'b', 'c', 'd', 'e');
    await sections[0]!.end();
    expect(sections[1]!.names()).toEqual(['b', 'c', 'd']);
    await sections[1]!.end();
    expect(sections[2]!.names()).toEqual(['e']);
  });

  it('never lets one group wait for another', () => {
    submit('a');
    mutex.submit(groupKey('other', 'group'), new Item('x'));
    expect(sections.map(({ names }) => names())).toEqual([['a'], ['x']]);
  });

  it('adds to a running section what came meanwhile, up to a batch', () => {
    submit('a', 'b', 'c', 'd');
    sections[0]!.turn.takeMore();
    expect(sections[0]!.names()).toEqual(['a', 'b', 'c']);
    expect(mutex.queuedCount).toBe(1);
  });

  it('takes what was put back first again', async () => {
    submit('a', 'b', 'c', 'd');
    sections[0]!.turn.takeMore();
    sections[0]!.turn.putBack(2);
    expect(sections[0]!.names()).toEqual(['a']);
    await sections[0]!.end();
    expect(sections[1]!.names()).toEqual(['b', 'c', 'd']);
  });

  it('refuses what exceeds the bound of a group', () => {
    submit('a', 'b', 'c', 'd', 'e');
    expect(() => submit('f')).toThrow(expect.objectContaining({ code: 'COORDINATOR_BUSY', bound: 'GROUP' }));
    expect(mutex.queuedCount).toBe(4);
  });

  it('refuses what exceeds the bound of all groups, of an idle group too', () => {
    submit('a', 'b', 'c', 'd', 'e');
    const other = groupKey('other', 'group');
    for (const name of ['v', 'w', 'x']) mutex.submit(other, new Item(name));
    expect(() => mutex.submit(groupKey('third', 'group'), new Item('y'))).toThrow(
      expect.objectContaining({ bound: 'TOTAL', retryAfterMs: 1_000 }),
    );
  });

  it('refuses what waited too long, which then never runs, and keeps who came later', async () => {
    const [, early] = submit('a', 'early');
    await clock.advance(600);
    const [late] = submit('late');
    await clock.advance(399);
    expect(early!.error).toBeNull();
    await clock.advance(1);
    expect(early!.error).toMatchObject({ code: 'METADATA_LOCK_TIMEOUT', retryable: true });
    await sections[0]!.end();
    expect(sections[1]!.names()).toEqual(['late']);
    expect(late!.error).toBeNull();
    await clock.advance(5_000); // taken: its time in the queue is over
    expect(late!.error).toBeNull();
  });

  it('refuses the queue on demand, and leaves what was taken to its section', async () => {
    const [taken, queued] = submit('a', 'b');
    mutex.refuseQueued(new Error('closing'));
    expect([taken!.error, queued!.error]).toEqual([null, new Error('closing')]);
    await sections[0]!.end();
    expect(sections).toHaveLength(1);
    expect(mutex.queuedCount).toBe(0);
  });

  it('leaves no timer behind, and starts anew when the group was idle', async () => {
    submit('a', 'b');
    await sections[0]!.end();
    await sections[1]!.end();
    expect(clock.pendingAlarms).toBe(0);
    submit('c');
    expect(sections[2]!.names()).toEqual(['c']);
  });
});
