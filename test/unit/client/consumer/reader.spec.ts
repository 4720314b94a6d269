import { describe, expect, it } from '@jest/globals';
import { NO_METRICS } from '../../../../src/client/consumer/consumer-metrics';
import { FaultReport } from '../../../../src/client/consumer/fault-report';
import { SingleNodePlan } from '../../../../src/client/consumer/read-plan';
import { Reader, type ReaderOptions } from '../../../../src/client/consumer/reader';
import type { Clock } from '../../../../src/client/consumer/clock';
import type { MonotonicMillis } from '../../../../src/domain/time';

/** Time stands still: what these tests are about is order, not duration. */
const STILL: Clock = { nowMs: () => 1_000 as MonotonicMillis, after: () => () => undefined };

class FakeWorker {
  wantsRead = false;
  willWantRead = false;
  constructor(readonly streamKey: string) {}
  readStarted(): void {
    this.wantsRead = false;
  }
  readEnded(): void {
    this.wantsRead = true;
  }
}

/** Redis as the reader sees it: each read stays blocked until the test ends it. */
class FakeReads {
  isReady = true;
  readonly blocked: { readonly streamKeys: readonly string[]; readonly end: () => void }[] = [];
  /** Resolved by the test: the id of the connection is being asked for. */
  answerClientId: (id: number) => void = () => undefined;

  currentClientId(): Promise<number> {
    return new Promise((resolve) => (this.answerClientId = resolve));
  }

  read({ streamKeys }: { readonly streamKeys: readonly string[] }): Promise<null> {
    return new Promise((resolve) => this.blocked.push({ streamKeys, end: () => resolve(null) }));
  }

  onReady(): void {}
  cut(): void {}
  close(): void {}
}

function readerOf(reads: FakeReads, workers: readonly FakeWorker[]): Reader {
  const options = {
    reads,
    plan: new SingleNodePlan(),
    clock: STILL,
    random: () => 0,
    faults: new FaultReport(STILL, () => undefined),
    metrics: NO_METRICS,
    count: 100,
    workers: () => workers,
    consumer: () => 'a-m0:7',
    leaseRemainingMs: () => 15_000,
    leaseTtlMs: () => 15_000,
    unblock: () => Promise.resolve(true),
  };
  return new Reader(options as unknown as ReaderOptions);
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('the reader of a member', () => {
  // It chose the shards before it waited for the id: one that was ready meanwhile was left out of a read that blocks for seconds.
  it('takes a shard into the read that became ready while the read was being prepared', async () => {
    const reads = new FakeReads();
    const [first, second] = [new FakeWorker('s:0'), new FakeWorker('s:1')];
    const reader = readerOf(reads, [first, second]);
    const running = reader.run();
    first.wantsRead = true;
    reader.poke();
    await turn();
    second.wantsRead = true;
    reader.poke();
    reads.answerClientId(1);
    await turn();
    expect(reads.blocked.map(({ streamKeys }) => [...streamKeys].sort())).toEqual([['s:0', 's:1']]);
    reader.close();
    reads.blocked[0]?.end();
    await running;
  });

  it('reads nothing of a shard that was taken away while the read was being prepared', async () => {
    const reads = new FakeReads();
    const worker = new FakeWorker('s:0');
    const reader = readerOf(reads, [worker]);
    const running = reader.run();
    worker.wantsRead = true;
    reader.poke();
    await turn();
    worker.wantsRead = false;
    reads.answerClientId(1);
    await turn();
    expect(reads.blocked).toEqual([]);
    reader.close();
    await running;
  });
});
