import { beforeEach, describe, expect, it } from '@jest/globals';
import { NO_METRICS } from '../../../../src/client/consumer/consumer-metrics';
import { FaultReport } from '../../../../src/client/consumer/fault-report';
import { FlushTurn } from '../../../../src/client/consumer/flush-turn';
import type { ShardWorker } from '../../../../src/client/consumer/shard-worker';
import { WorkerSet } from '../../../../src/client/consumer/worker-set';
import type { WorkerSetOptions } from '../../../../src/client/consumer/worker-set';
import type { ShardIndex } from '../../../../src/domain/ids';
import { ManualClock, settle } from '../../../support/manual-clock';

const SHARD = 3 as ShardIndex;

let clock: ManualClock;
/** One per look at pending entries: ends it with nothing found. */
let lists: (() => Promise<void>)[];
let unwantedReads: number;
let takenOverMs: number[];
let stopped: number[];
let workers: WorkerSet;

beforeEach(() => {
  clock = new ManualClock();
  lists = [];
  takenOverMs = [];
  stopped = [];
  unwantedReads = 0;
  workers = new WorkerSet({
    environment: {
      ...{ streamPrefix: 's', memberId: 'a-m0', clock, random: () => 0, mayWork: () => true },
      handling: { readCount: 10 },
      commands: {
        pendingPage: async () =>
          new Promise((resolve) =>
            lists.push(async () => {
              resolve([]);
              await settle();
            }),
          ),
        idleConsumers: async () => [],
        removeConsumer: async () => undefined,
      },
      turn: new FlushTurn((work) => work()),
      metrics: { ...NO_METRICS, takenOver: (durationMs: number) => void takenOverMs.push(durationMs) },
      faults: new FaultReport(clock, () => undefined),
    },
    ...{ mayWorkAt: () => true, leaseTtlMs: () => 15_000, onLeaseDoubt: () => undefined },
    ...{ onReadInterest: () => undefined, onReadUnwanted: () => void (unwantedReads += 1) },
    onShardStopped: (shard: number) => void stopped.push(shard),
    ...{ onEmpty: () => undefined, onDefect: () => undefined },
  } as unknown as WorkerSetOptions);
  workers.beginTenure(7);
});

function worker(): ShardWorker {
  const [only] = [...workers.all()];
  return only!;
}

async function reading(): Promise<ShardWorker> {
  workers.start(SHARD, 5);
  await lists[0]!();
  expect(worker().wantsRead).toBe(true);
  worker().readStarted();
  return worker();
}

describe('a new token', () => {
  it('reaches the shard that is read, whose read goes on', async () => {
    const before = await reading();
    workers.renewToken(SHARD, 9);
    expect(worker()).toBe(before);
    expect(before.token).toBe(9);
    expect(unwantedReads).toBe(0);
    expect(lists.length).toBe(1); // nothing is looked up
    before.readEnded([]);
    expect(before.wantsRead).toBe(true);
  });

  it('reaches the start that waits for the end of a drain', async () => {
    const draining = await reading();
    workers.drain(SHARD);
    workers.start(SHARD, 6);
    workers.renewToken(SHARD, 9);
    draining.readEnded([]);
    await settle();
    expect(worker()).not.toBe(draining);
    expect(worker().token).toBe(9);
    expect(draining.token).toBe(5);
    expect(stopped).toEqual([]);
  });

  it('concerns no shard that is not read', async () => {
    const draining = await reading();
    workers.drain(SHARD);
    workers.renewToken(SHARD, 9);
    workers.renewToken(4 as ShardIndex, 9);
    expect(draining.token).toBe(5);
  });
});

describe('the look for pending entries after a correction round', () => {
  it('ends the read under way, and reads on after it', async () => {
    const before = await reading();
    workers.lookForPending();
    expect(unwantedReads).toBe(1);
    before.readEnded([]);
    expect(lists.length).toBe(2);
    expect(before.wantsRead).toBe(false);
    await lists[1]!();
    expect(before.wantsRead).toBe(true);
  });

  // A wish for it that came during a takeover was remembered and never carried out: the shard was not read any more.
  it('follows the takeover that is under way', async () => {
    workers.start(SHARD, 5);
    workers.lookForPending();
    await clock.advance(40);
    await lists[0]!();
    expect(lists.length).toBe(2);
    await lists[1]!();
    expect(worker().wantsRead).toBe(true);
    expect(takenOverMs).toEqual([40, 0]);
  });
});
