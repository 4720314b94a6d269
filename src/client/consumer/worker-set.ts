import type { ShardIndex } from '../../domain/ids';
import type { MonotonicMillis } from '../../domain/time';
import type { ShardProgress } from '../../protocol';
import { redisFaultOf } from '../redis/redis-faults';
import { AttemptRunner } from './attempt-runner';
import { Executor } from './executor';
import type { ShardActivity } from './heartbeat-request';
import { ShardWorker } from './shard-worker';
import type { WorkerEnvironment } from './worker-environment';

export interface WorkerSetOptions {
  /** The environment of a tenure, but for its consumer name. */
  readonly environment: Omit<WorkerEnvironment, 'consumer'>;
  /** Whether the lease holds at that instant. */
  readonly mayWorkAt: (nowMs: MonotonicMillis) => boolean;
  readonly leaseTtlMs: () => number;
  readonly onLeaseDoubt: () => void;
  readonly onReadInterest: () => void;
  readonly onReadUnwanted: () => void;
  /** Nothing of this process runs on the shard, stragglers aside that another worker has replaced, and no start of it waits. */
  readonly onShardStopped: (shard: ShardIndex) => void;
  /** Nothing runs any more. */
  readonly onEmpty: () => void;
  /** A loop of ours failed: a defect. */
  readonly onDefect: (error: unknown) => void;
}

/**
 * A handler of a former tenure that ignores its abort signal holds the next grant of its shard up no longer than this: its
 * lease is over, and another process would not wait for it either. Milliseconds.
 */
const STRAGGLER_WAIT_MS = 1_000;

/**
 * The shard workers of one member, over its tenures. One worker per shard: one that is started while another still ends waits
 * for it, so that the order within the shard holds. Only a straggler, the worker of a former tenure whose handler does not
 * return, is replaced after a while. A worker enters by `start` and leaves when it has stopped.
 */
export class WorkerSet implements ShardActivity {
  private readonly workers = new Map<ShardIndex, ShardWorker>();
  private readonly waitingStarts = new Map<ShardIndex, number>();
  /** Of former tenures, and not stopped yet: replaced or not. */
  private readonly stragglers = new Set<ShardWorker>();
  private environment: WorkerEnvironment | null = null;
  private executor: Executor | null = null;
  private cancelStrangerCheck: () => void = () => undefined;

  constructor(private readonly options: WorkerSetOptions) {}

  get consumer(): string {
    return this.environment?.consumer ?? '';
  }

  get isEmpty(): boolean {
    return this.workers.size === 0 && this.stragglers.size === 0;
  }

  all(): Iterable<ShardWorker> {
    return this.workers.values();
  }

  inFlight(shard: ShardIndex): number {
    return this.workers.get(shard)?.inFlight ?? 0;
  }

  availableConcurrency(): number {
    return this.executor?.isBusy === true ? 0 : 1;
  }

  progress(): readonly ShardProgress[] {
    return [...this.workers.values()].filter((worker) => worker.isActive).map((worker) => worker.progress());
  }

  beginTenure(memberEpoch: number): void {
    const { environment, mayWorkAt, onLeaseDoubt, onDefect } = this.options;
    this.environment = { ...environment, consumer: `${environment.memberId}:${memberEpoch}` };
    const executor = new Executor({
      clock: environment.clock,
      mayWork: mayWorkAt,
      onLeaseDoubt,
      runner: new AttemptRunner(this.environment),
    });
    this.executor = executor;
    executor.run().catch(onDefect);
    this.scheduleStrangerCheck();
  }

  start(shard: ShardIndex, token: number): void {
    const worker = this.workers.get(shard);
    if (worker === undefined) this.create(shard, token);
    else this.startAfter(worker, shard, token);
  }

  /** The shard is read on, or still waits for its start, and has this token now. */
  renewToken(shard: ShardIndex, token: number): void {
    if (this.waitingStarts.has(shard)) this.waitingStarts.set(shard, token);
    else {
      const worker = this.workers.get(shard);
      if (worker?.isActive === true) worker.token = token;
    }
  }

  /** A correction round is over: the streams may have gone back as well, and acks with them. */
  lookForPending(): void {
    for (const worker of [...this.workers.values()]) worker.wantTakeover();
  }

  drain(shard: ShardIndex): void {
    this.waitingStarts.delete(shard);
    this.workers.get(shard)?.drain();
  }

  abortDrain(shard: ShardIndex): void {
    this.workers.get(shard)?.abortDrain();
  }

  stopAll(): void {
    this.cancelStrangerCheck();
    this.waitingStarts.clear();
    this.executor?.close();
    this.executor = null;
    this.environment = null;
    for (const worker of [...this.workers.values()]) {
      this.stragglers.add(worker);
      worker.stop();
    }
  }

  private startAfter(worker: ShardWorker, shard: ShardIndex, token: number): void {
    this.waitingStarts.set(shard, token);
    if (!this.stragglers.has(worker)) return;
    this.options.environment.clock.after(STRAGGLER_WAIT_MS, () => {
      if (this.workers.get(shard) === worker && this.waitingStarts.has(shard)) this.startNext(shard);
    });
  }

  private create(shard: ShardIndex, token: number): void {
    const { environment, executor } = this;
    if (environment === null || executor === null) return;
    const { onReadInterest, onReadUnwanted } = this.options;
    const worker: ShardWorker = new ShardWorker(shard, token, environment, {
      ...{ onReadInterest, onReadUnwanted },
      onReady: () => executor.enqueue(worker),
      onStopped: () => this.stopped(worker),
    });
    this.workers.set(shard, worker);
    worker.start();
  }

  private stopped(worker: ShardWorker): void {
    this.stragglers.delete(worker);
    if (this.workers.get(worker.shard) === worker) this.startNext(worker.shard);
    if (this.isEmpty) this.options.onEmpty();
  }

  /** The worker of the shard has stopped, or is not waited for any more. */
  private startNext(shard: ShardIndex): void {
    this.workers.delete(shard);
    const token = this.waitingStarts.get(shard);
    this.waitingStarts.delete(shard);
    if (token === undefined) this.options.onShardStopped(shard);
    else this.create(shard, token);
  }

  /** Once per lease: what a read of a former owner took late lies under its name, and nobody else would look there. */
  private scheduleStrangerCheck(): void {
    const { clock, faults } = this.options.environment;
    this.cancelStrangerCheck = clock.after(this.options.leaseTtlMs(), () => {
      this.checkForStrangers().catch((error: unknown) => {
        faults.report(`STRANGERS ${redisFaultOf(error)}`, error);
      });
      this.scheduleStrangerCheck();
    });
  }

  private async checkForStrangers(): Promise<void> {
    for (const worker of [...this.workers.values()]) {
      if (this.options.environment.mayWork()) await worker.checkForStrangers();
    }
  }
}
