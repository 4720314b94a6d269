import type { RawReadReply } from '../redis/group-commands';
import type { GroupReads } from '../redis/group-reads';
import { missingStreamKey, redisFaultOf } from '../redis/redis-faults';
import type { Clock } from './clock';
import type { ConsumerMetrics } from './consumer-metrics';
import type { FaultReport } from './fault-report';
import { backoffMs } from './outcome';
import { Pause } from './pause';
import type { ReadGroup, ReadPlan } from './read-plan';
import type { ShardWorker } from './shard-worker';
import { WakeSignal } from './wake-signal';

/** A read blocks no longer than this, however much of the lease is left. Milliseconds. */
const MAX_BLOCK_MS = 5_000;
/** A block ends at least this much, and this share of the lease, before the lease: Redis ends blocks up to 100 ms late. */
const LEASE_MARGIN_MS = 150;
const LEASE_MARGIN_SHARE = 0.1;
/** A read without a reply so long after its block time is taken for lost, and its connection with it. */
const HANG_MARGIN_MS = 1_000;
/** Shards with entries at hand get so long to be done with them before the others are read without them. */
const PARTIAL_AFTER_MS = 10;
/** UNBLOCK may overtake the read that it is to end: it is repeated, so often, with this wait between. */
const UNBLOCK_ATTEMPTS = 50;
const UNBLOCK_INTERVAL_MS = 2;
const FAULT_BACKOFF = { firstMs: 20, maxMs: 2_000 };

export interface ReaderOptions {
  readonly reads: GroupReads;
  readonly plan: ReadPlan;
  readonly clock: Clock;
  readonly random: () => number;
  readonly faults: FaultReport;
  readonly metrics: ConsumerMetrics;
  /** COUNT, per shard. */
  readonly count: number;
  readonly workers: () => Iterable<ShardWorker>;
  readonly consumer: () => string;
  readonly leaseRemainingMs: () => number;
  readonly leaseTtlMs: () => number;
  /** Ends the blocked read of that connection; true when it was blocked. */
  readonly unblock: (clientId: number) => Promise<boolean>;
}

/** A read under way. */
interface OpenRead {
  readonly workers: ReadonlySet<ShardWorker>;
  readonly clientId: number;
  isInterrupted: boolean;
}

/**
 * Reads new entries for all shards of a member over one blocking connection, one read at a time.
 * States: waiting (nothing to read, no connection, no lease, or a backoff); reading; closed.
 * No read outlives the lease: a process that is stopped in the middle of one leaves nothing in Redis that could deliver to it
 * later. A change of what is to be read ends the read under way at once.
 */
export class Reader {
  private readonly wake = new WakeSignal();
  private open: OpenRead | null = null;
  private isClosed = false;
  private failures = 0;
  private lastReplyMs = 0;
  private readonly partialPause: Pause;
  private endPause: () => void = () => undefined;

  constructor(private readonly options: ReaderOptions) {
    this.partialPause = new Pause(options.clock);
    options.reads.onReady(() => this.wake.notify());
  }

  /** What is to be read may have changed, or the lease was renewed. */
  poke(): void {
    this.wake.notify();
    const { open } = this;
    if (open === null || open.isInterrupted) return;
    for (const worker of this.options.workers()) {
      if (worker.wantsRead && !open.workers.has(worker)) {
        this.interrupt();
        return;
      }
    }
  }

  /** Ends the read under way: a shard in it is not to be read any more. */
  interrupt(): void {
    const { open } = this;
    if (open === null || open.isInterrupted) return;
    open.isInterrupted = true;
    this.unblock(open).catch((error: unknown) => {
      // Without a control connection the read is ended by its own.
      this.options.faults.report(`UNBLOCK ${redisFaultOf(error)}`, error);
      if (this.open === open) this.options.reads.cut();
    });
  }

  private async unblock(open: OpenRead): Promise<void> {
    for (let attempt = 0; attempt < UNBLOCK_ATTEMPTS; attempt += 1) {
      if (this.open !== open || (await this.options.unblock(open.clientId))) return;
      await this.pause(UNBLOCK_INTERVAL_MS);
    }
    if (this.open === open) this.options.reads.cut();
  }

  close(): void {
    this.isClosed = true;
    this.partialPause.cancel();
    this.endPause();
    this.options.reads.close();
    this.wake.notify();
  }

  /** Resolves after `close`. */
  async run(): Promise<void> {
    while (!this.isClosed) {
      if (this.wantingWorkers() === null) await this.wake.wait();
      else await this.readOnce();
    }
  }

  private wantingWorkers(): readonly ShardWorker[] | null {
    if (!this.options.reads.isReady || this.blockMs() < 1) return null;
    const wanting: ShardWorker[] = [];
    let isOneBusy = false;
    for (const worker of this.options.workers()) {
      if (worker.wantsRead) wanting.push(worker);
      else if (worker.willWantRead) isOneBusy = true;
    }
    if (wanting.length === 0) return null;
    const waitedMs = this.options.clock.nowMs() - this.lastReplyMs;
    if (isOneBusy && waitedMs < PARTIAL_AFTER_MS) {
      this.partialPause.start(PARTIAL_AFTER_MS - waitedMs, () => this.wake.notify());
      return null;
    }
    return wanting;
  }

  private blockMs(): number {
    const marginMs = Math.max(LEASE_MARGIN_MS, this.options.leaseTtlMs() * LEASE_MARGIN_SHARE);
    return Math.floor(Math.min(MAX_BLOCK_MS, this.options.leaseRemainingMs() - marginMs));
  }

  private async readOnce(): Promise<void> {
    const { reads, plan, consumer, count } = this.options;
    let workers: ReadGroup = [];
    try {
      const clientId = await reads.currentClientId();
      // Chosen only now, and the read is open before anything else runs: a shard that is ready in between would wait it out.
      const wanting = this.wantingWorkers();
      if (wanting === null) return;
      workers = plan.next(wanting);
      const blockMs = this.blockMs();
      for (const worker of workers) worker.readStarted();
      this.open = { workers: new Set(workers), clientId, isInterrupted: false };
      const streamKeys = workers.map((worker) => worker.streamKey);
      const reply = await this.bounded(
        reads.read({ consumer: consumer(), streamKeys, count, blockMs }),
        blockMs,
      );
      this.failures = 0;
      this.deliver(workers, reply);
    } catch (error) {
      await this.failed(this.open === null ? [] : workers, error);
    }
  }

  /** Cuts the connection under a read that hangs, which makes it reject. */
  private async bounded(read: Promise<RawReadReply>, blockMs: number): Promise<RawReadReply> {
    const cancel = this.options.clock.after(blockMs + HANG_MARGIN_MS, () => this.options.reads.cut());
    try {
      return await read;
    } finally {
      cancel();
    }
  }

  private deliver(workers: ReadGroup, reply: RawReadReply): void {
    this.open = null;
    this.lastReplyMs = this.options.clock.nowMs();
    const entries = new Map(reply ?? []);
    for (const worker of workers) worker.readEnded(entries.get(worker.streamKey) ?? []);
  }

  private async failed(workers: ReadGroup, error: unknown): Promise<void> {
    this.open = null;
    const kind = redisFaultOf(error);
    if (this.isClosed) {
      for (const worker of workers) worker.readEnded([]);
      return;
    }
    this.options.metrics.fault(kind);
    const missing = kind === 'NOGROUP' ? missingStreamKey(error) : null;
    for (const worker of workers) {
      if (worker.streamKey === missing) worker.streamMissing();
      else if (kind === 'CONNECTION' || kind === 'TIMEOUT' || kind === 'OTHER') worker.readLost();
      else worker.readEnded([]);
    }
    if (kind === 'UNBLOCKED' && this.failures === 0) {
      this.failures = 1; // the next read tells why, if there is more to it
      return;
    }
    this.options.faults.report(`READ ${kind}`, error);
    if (missing !== null) return;
    await this.pause(backoffMs(FAULT_BACKOFF, this.failures, this.options.random));
    this.failures += 1;
  }

  /** Cut short by `close`. */
  private async pause(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.options.clock.after(delayMs, resolve);
      this.endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}
