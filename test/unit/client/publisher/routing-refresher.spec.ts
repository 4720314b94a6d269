import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RoutingQuery } from '../../../../src/client/coordinator-client';
import { RoutingCache } from '../../../../src/client/publisher/routing-cache';
import { RoutingRefresher } from '../../../../src/client/publisher/routing-refresher';
import type { ProducerRouting } from '../../../../src/protocol';
import { ManualClock, settle } from '../../../support/manual-clock';
import { routingOf } from './routing-samples';

/** A request of the refresher, answered by hand. */
interface Asked {
  readonly query: RoutingQuery;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly atMs: number;
  answer(routing: ProducerRouting): Promise<void>;
  fail(error: Error): Promise<void>;
}

let clock: ManualClock;
let cache: RoutingCache;
let asked: Asked[];
let failures: unknown[];
let random: number;

function refresherOf(waitMs = 0): RoutingRefresher {
  return new RoutingRefresher({
    cache,
    clock,
    random: () => random,
    waitMs,
    onOutcome: (failure) => {
      if (failure !== null) failures.push(failure);
    },
    source: async (query, { signal, timeoutMs }) =>
      new Promise((resolve, reject) => {
        asked.push({
          query,
          signal,
          timeoutMs,
          atMs: clock.nowMs(),
          answer: async (routing) => {
            resolve(routing);
            await settle();
          },
          fail: async (error) => {
            reject(error);
            await settle();
          },
        });
      }),
  });
}

async function startedWith(waitMs = 0): Promise<RoutingRefresher> {
  const refresher = refresherOf(waitMs);
  const started = refresher.start();
  await asked[0]!.answer(routingOf(5));
  await started;
  return refresher;
}

beforeEach(() => {
  clock = new ManualClock();
  cache = new RoutingCache({ leaseMs: 30_000, refreshMs: 5_000 });
  asked = [];
  failures = [];
  random = 0;
});

describe('RoutingRefresher', () => {
  it('starts with the first routing, and refreshes every interval', async () => {
    await startedWith();
    expect(cache.usableAt(clock.nowMs())?.metadataVersion).toBe(5);
    await clock.advance(4_999);
    expect(asked.length).toBe(1);
    await clock.advance(1);
    expect(asked.length).toBe(2);
    expect(asked[1]!.query).toEqual({ metadataVersion: 5, maxObservedVersion: 5 });
  });

  it('counts the interval from the sending, and spreads it by up to a tenth', async () => {
    random = 0.999;
    const refresher = refresherOf();
    const started = refresher.start();
    await clock.advance(400); // a slow answer
    await asked[0]!.answer(routingOf(5));
    await started;
    await clock.advance(4_099);
    expect(asked.length).toBe(1);
    await clock.advance(5);
    expect(asked.length).toBe(2);
    expect(asked[1]!.atMs - asked[0]!.atMs).toBeCloseTo(4_500, -1);
  });

  it('rejects its start with what the coordinator said, and asks no more', async () => {
    const refresher = refresherOf();
    const started = refresher.start();
    const outcome = expect(started).rejects.toThrow('no such group');
    await asked[0]!.fail(new Error('no such group'));
    await outcome;
    await clock.advance(60_000);
    expect(asked.length).toBe(1);
    expect(clock.timerCount).toBe(0);
  });

  it('tries again with a growing, bounded backoff while refreshes fail, and keeps the routing meanwhile', async () => {
    await startedWith();
    await clock.advance(5_000);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 9; attempt++) {
      await asked[attempt]!.fail(new Error('away'));
      const failedAtMs = clock.nowMs();
      for (let waited = 0; asked.length === attempt + 1 && waited < 10_000; waited += 25)
        await clock.advance(25);
      waits.push(asked[attempt + 1]!.atMs - failedAtMs);
    }
    expect(waits).toEqual([50, 100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500]);
    expect(failures.length).toBe(9);
    expect(cache.usableAt((asked[0]!.atMs + 29_999) as never)).not.toBeNull();
    await asked[10]!.answer(routingOf(6));
    expect(cache.usableAt(clock.nowMs())?.metadataVersion).toBe(6);
    await clock.advance(5_000);
    expect(asked.length).toBe(12); // back to the interval
  });

  it('gives every request a deadline well inside the lease', async () => {
    cache = new RoutingCache({ leaseMs: 1_000, refreshMs: 200 });
    await startedWith();
    expect(asked[0]!.timeoutMs).toBe(300);
  });

  it('asks nothing after it was stopped, and never looks at the answer of a request it gave up', async () => {
    const refresher = await startedWith();
    await clock.advance(5_000);
    refresher.stop();
    expect(asked[1]!.signal.aborted).toBe(true);
    await asked[1]!.answer(routingOf(9));
    expect(cache.usableAt(clock.nowMs())?.metadataVersion).toBe(5);
    await clock.advance(60_000);
    expect(asked.length).toBe(2);
    expect(clock.timerCount).toBe(0);
  });
});

describe('a refresh on a sign', () => {
  it('is sent at once and shared by all who need it', async () => {
    const refresher = await startedWith();
    const first = refresher.refresh();
    const second = refresher.nextAnswer();
    await settle();
    expect(asked.length).toBe(2);
    await asked[1]!.answer(routingOf(6));
    await Promise.all([first, second]);
    expect(cache.usableAt(clock.nowMs())?.metadataVersion).toBe(6);
  });

  it('does not believe an answer that was asked for before the sign', async () => {
    const refresher = await startedWith();
    await clock.advance(5_000); // a refresh is under way
    const needed = refresher.refresh();
    await asked[1]!.answer(routingOf(5));
    await settle();
    expect(asked.length).toBe(3);
    await asked[2]!.answer(routingOf(6));
    await needed;
    expect(cache.usableAt(clock.nowMs())?.metadataVersion).toBe(6);
  });

  it('rejects at once while the backoff after a failure runs, and is sent when it is over', async () => {
    const refresher = await startedWith();
    const failed = expect(refresher.refresh()).rejects.toThrow('away');
    await asked[1]!.fail(new Error('away'));
    await failed;
    await expect(refresher.refresh()).rejects.toThrow('away');
    expect(asked.length).toBe(2);
    await clock.advance(50);
    expect(asked.length).toBe(3);
  });

  it('follows soon after a higher version was seen, once for a burst', async () => {
    const refresher = await startedWith();
    refresher.hurry();
    refresher.hurry();
    await clock.advance(49);
    expect(asked.length).toBe(1);
    await clock.advance(1);
    expect(asked.length).toBe(2);
  });

  it('follows the request under way when the version was seen meanwhile', async () => {
    const refresher = await startedWith();
    await clock.advance(5_000);
    refresher.hurry();
    await clock.advance(200);
    expect(asked.length).toBe(2);
    await asked[1]!.answer(routingOf(5));
    await clock.advance(50);
    expect(asked.length).toBe(3);
  });
});

describe('long polling', () => {
  it('holds one request, with its waiting time on top of the deadline, and follows a change at once', async () => {
    await startedWith(4_000);
    expect(asked[0]!.query).toEqual({});
    await clock.advance(0);
    expect(asked[1]!.query).toEqual({ metadataVersion: 5, maxObservedVersion: 5, waitMs: 4_000 });
    expect(asked[1]!.timeoutMs).toBe(9_000);
    await clock.advance(1_000);
    await asked[1]!.answer(routingOf(6));
    await clock.advance(0);
    expect(asked.length).toBe(3);
  });

  it('does not run hot against a coordinator that answers at once', async () => {
    await startedWith(4_000);
    await clock.advance(0);
    await asked[1]!.answer(routingOf(5));
    await clock.advance(3_999);
    expect(asked.length).toBe(2);
    await clock.advance(1);
    expect(asked.length).toBe(3);
  });

  it('is dropped when an answer is needed now', async () => {
    const refresher = await startedWith(4_000);
    await clock.advance(0);
    const needed = refresher.nextAnswer();
    expect(asked[1]!.signal.aborted).toBe(true);
    expect(asked[2]!.query.waitMs).toBeUndefined();
    await asked[2]!.answer(routingOf(7));
    await needed;
    await asked[1]!.answer(routingOf(99));
    expect(cache.usableAt(clock.nowMs())?.metadataVersion).toBe(7);
  });
});
