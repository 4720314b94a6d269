import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MonotonicMillis } from '../../domain/time';
import type { AttemptRunner } from './attempt-runner';
import type { Clock } from './clock';
import type { ShardWorker } from './shard-worker';
import { WakeSignal } from './wake-signal';

/** Entries of one shard handled in a row while others wait, and how long at most. */
const SLICE_ENTRIES = 50;
const SLICE_MS = 2;
/** The event loop gets a turn this often even if no handler ever waits: heartbeats and replies need it. */
const TURN_MS = 10;

export interface ExecutorOptions {
  readonly clock: Clock;
  readonly runner: AttemptRunner;
  /** Whether the lease holds at this instant, which is now. */
  readonly mayWork: (nowMs: MonotonicMillis) => boolean;
  /** It does not, although nobody said so yet: the process was paused. */
  readonly onLeaseDoubt: () => void;
}

/**
 * Runs the handlers of one tenure of a member, one at a time, serving its shards in rotation. Before each entry it looks at the
 * lease. States: waiting for a shard with something to handle; handling; closed, after which it handles nothing more.
 */
export class Executor {
  private readonly ready: ShardWorker[] = [];
  private readonly isQueued = new Set<ShardWorker>();
  private readonly wake = new WakeSignal();
  private isClosed = false;
  private isHandling = false;
  private turnStartMs = 0;

  constructor(private readonly options: ExecutorOptions) {}

  get isBusy(): boolean {
    return this.isHandling;
  }

  enqueue(worker: ShardWorker): void {
    if (this.isClosed || this.isQueued.has(worker)) return;
    this.isQueued.add(worker);
    this.ready.push(worker);
    this.wake.notify();
  }

  close(): void {
    this.isClosed = true;
    this.ready.length = 0;
    this.isQueued.clear();
    this.wake.notify();
  }

  /** Resolves after `close`, once no handler runs. */
  async run(): Promise<void> {
    while (!this.isClosed) {
      const worker = this.ready.shift();
      if (worker === undefined) {
        await this.wake.wait();
        this.turnStartMs = this.options.clock.nowMs();
        continue;
      }
      this.isQueued.delete(worker);
      this.isHandling = true;
      if (await this.serve(worker)) this.enqueue(worker);
      this.isHandling = false;
    }
  }

  /** True when the shard has more. */
  private async serve(worker: ShardWorker): Promise<boolean> {
    const { clock, runner, mayWork, onLeaseDoubt } = this.options;
    const startMs = clock.nowMs();
    let nowMs = startMs;
    for (let served = 0; served < SLICE_ENTRIES && nowMs - startMs < SLICE_MS; served += 1) {
      if (!mayWork(nowMs)) {
        if (worker.isActive) onLeaseDoubt();
        return false;
      }
      const attempt = worker.next();
      if (attempt === null) return false;
      const pending = runner.run(worker, attempt);
      if (pending !== undefined) await pending;
      nowMs = clock.nowMs();
      if (nowMs - this.turnStartMs >= TURN_MS) {
        await nextTurn();
        nowMs = clock.nowMs();
        this.turnStartMs = nowMs;
      }
    }
    return true;
  }
}
