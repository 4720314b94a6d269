import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  CLOSE_TIMEOUT_MS,
  LOAD_TIMEOUT_MS,
  SAVE_INTERVAL_MS,
  SLOW_SAVE_MS,
  VersionKeeper,
} from '../../../../src/client/versions/version-keeper';
import type { VersionStore, VersionStoreError } from '../../../../src/client/versions/version-store';
import { ManualClock, settle } from '../../../support/manual-clock';

interface Save {
  readonly key: string;
  readonly version: number;
  readonly atMs: number;
  done(): Promise<void>;
  fail(): Promise<void>;
}

/** A store whose answers are given by hand. */
class HandStore implements VersionStore {
  readonly saves: Save[] = [];
  loadedKey: string | null = null;
  answerLoad: (version: number | null | Error) => Promise<void> = async () => undefined;

  constructor(private readonly clock: ManualClock) {}

  async load(key: string): Promise<number | null> {
    this.loadedKey = key;
    return new Promise((resolve, reject) => {
      this.answerLoad = async (version) => {
        if (version instanceof Error) reject(version);
        else resolve(version);
        await settle();
      };
    });
  }

  async save(key: string, version: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const done = async (): Promise<void> => {
        resolve();
        await settle();
      };
      const fail = async (): Promise<void> => {
        reject(new Error('disk full'));
        await settle();
      };
      this.saves.push({ key, version, atMs: this.clock.nowMs(), done, fail });
    });
  }
}

let clock: ManualClock;
let store: HandStore;
let faults: VersionStoreError[];
let keeper: VersionKeeper;

function keeperOf(versionStore: VersionStore | null): VersionKeeper {
  return new VersionKeeper({
    ...{ store: versionStore, streamPrefix: 'orders', consumerGroup: 'billing', clock },
    onFault: (error) => faults.push(error),
  });
}

beforeEach(() => {
  clock = new ManualClock();
  store = new HandStore(clock);
  faults = [];
  keeper = keeperOf(store);
});

const versions = (): number[] => store.saves.map(({ version }) => version);

describe('the version that is loaded', () => {
  it('is that of the stream and group, counts as seen, and is not saved again', async () => {
    const loaded = keeper.load();
    expect(store.loadedKey).toBe('orders:billing');
    await store.answerLoad(70);
    await loaded;
    expect(keeper.seen.value).toBe(70);
    keeper.seen.observe(69);
    await clock.advance(SAVE_INTERVAL_MS * 3);
    expect(store.saves).toEqual([]);
  });

  it('may be missing', async () => {
    const loaded = keeper.load();
    await store.answerLoad(null);
    await loaded;
    expect(keeper.seen.value).toBe(0);
    expect(faults).toEqual([]);
  });

  it.each([
    ['cannot be read', new Error('no permission'), /could not load "orders:billing": no permission/],
    ['is no version', Number.NaN, /which is no version/],
    ['is negative', -1, /which is no version/],
    ['is no integer', 1.5, /which is no version/],
  ])('is told of and passed over when it %s', async (_case, answer, message) => {
    const loaded = keeper.load();
    await store.answerLoad(answer);
    await loaded;
    expect(keeper.seen.value).toBe(0);
    expect(faults.map((fault) => fault.message)).toEqual([expect.stringMatching(message)]);
    expect(faults[0]).toMatchObject({ code: 'VERSION_STORE_FAILED', operation: 'load' });
  });

  it('is not waited for without end, and counts when it comes late', async () => {
    let isLoaded = false;
    const loaded = keeper.load().then(() => (isLoaded = true));
    await clock.advance(LOAD_TIMEOUT_MS - 1);
    expect(isLoaded).toBe(false);
    await clock.advance(1);
    await loaded;
    expect(faults.length).toBe(1);
    await store.answerLoad(70);
    expect(keeper.seen.value).toBe(70);
  });

  it('is asked for once', async () => {
    const loaded = [keeper.load(), keeper.load()];
    await store.answerLoad(7);
    await Promise.all(loaded);
    await keeper.load();
    expect(clock.timerCount).toBe(0);
  });

  it('does not take a store that throws before it returns a promise for more than a fault', async () => {
    const rude: VersionStore = {
      load: () => {
        throw new Error('rude');
      },
      save: () => {
        throw new Error('rude');
      },
    };
    keeper = keeperOf(rude);
    await keeper.load();
    keeper.seen.observe(5);
    await clock.advance(1);
    expect(faults.map(({ operation }) => operation)).toEqual(['load', 'save']);
    await keeper.close();
  });
});

describe('the version that is saved', () => {
  it('is saved soon when it grows, without anybody waiting for it', async () => {
    keeper.seen.observe(5);
    expect(store.saves).toEqual([]);
    await clock.advance(0);
    expect(store.saves).toMatchObject([{ key: 'orders:billing', version: 5 }]);
  });

  it('is the last of many: one save at a time, and one per second', async () => {
    keeper.seen.observe(5);
    await clock.advance(0);
    keeper.seen.observe(6);
    keeper.seen.observe(7);
    await clock.advance(SAVE_INTERVAL_MS * 2);
    expect(versions()).toEqual([5]); // still under way
    await store.saves[0]!.done();
    await clock.advance(0);
    expect(versions()).toEqual([5, 7]);
    await store.saves[1]!.done();
    keeper.seen.observe(8);
    await clock.advance(SAVE_INTERVAL_MS - 1);
    expect(versions()).toEqual([5, 7]);
    await clock.advance(1);
    expect(versions()).toEqual([5, 7, 8]);
  });

  it('is not saved when it has not grown', async () => {
    keeper.seen.observe(5);
    await clock.advance(0);
    await store.saves[0]!.done();
    keeper.seen.observe(5);
    keeper.seen.observe(4);
    await clock.advance(SAVE_INTERVAL_MS * 3);
    expect(versions()).toEqual([5]);
  });

  it('is tried again a second later when it could not be saved, and told of', async () => {
    keeper.seen.observe(5);
    await clock.advance(0);
    await store.saves[0]!.fail();
    expect(faults.map(({ message }) => message)).toEqual([expect.stringContaining('disk full')]);
    await clock.advance(SAVE_INTERVAL_MS);
    expect(versions()).toEqual([5, 5]);
  });

  it('is told of when a save takes long, and nothing else is begun', async () => {
    keeper.seen.observe(5);
    await clock.advance(0);
    keeper.seen.observe(6);
    await clock.advance(SLOW_SAVE_MS);
    expect(faults.length).toBe(1);
    await clock.advance(SLOW_SAVE_MS * 10);
    expect(versions()).toEqual([5]);
    expect(faults.length).toBe(1);
  });

  it('is saved at the end, after the save under way', async () => {
    keeper.seen.observe(5);
    await clock.advance(0);
    keeper.seen.observe(6);
    let isClosed = false;
    const closed = keeper.close().then(() => (isClosed = true));
    await settle();
    expect(versions()).toEqual([5]);
    await store.saves[0]!.done();
    expect(versions()).toEqual([5, 6]);
    expect(isClosed).toBe(false);
    await store.saves[1]!.done();
    await closed;
    keeper.seen.observe(7);
    expect(clock.timerCount).toBe(0);
  });

  it('holds an end up no longer than its limit', async () => {
    keeper.seen.observe(5);
    const closed = keeper.close();
    await clock.advance(CLOSE_TIMEOUT_MS);
    await closed;
    expect(faults.map(({ operation }) => operation)).toEqual(['save']);
  });

  it('is not missed without a store', async () => {
    keeper = keeperOf(null);
    await keeper.load();
    keeper.seen.observe(5);
    await keeper.close();
    expect(clock.timerCount).toBe(0);
  });
});
