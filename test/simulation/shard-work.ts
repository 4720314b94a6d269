import type { SimulatedProcess } from './scheduler';
import type { RedisWorld } from './simulated-redis';

/** A grace that a handler of a former tenure gets before its shard is read again all the same, as in the SDK. */
const STRAGGLER_WAIT_MS = 1_000;
const READ_MS = { low: 100, high: 600 } as const;
const HANDLE_MS = { low: 20, high: 500 } as const;
/** Up to more than a lease, so that a drain outlives a correction round. */
const LONG_HANDLE_MS = { low: 500, high: 8_000 } as const;

/** A lease of the client's own, shared by the workers of one tenure: what they still do counts until it ends. */
export interface TenureLease {
  endMs: number;
}

export interface ShardUse {
  readonly shard: number;
  readonly token: number;
  readonly what: 'reading' | 'draining' | 'straggling';
}

interface Worker {
  readonly shard: number;
  token: number;
  readonly lease: TenureLease;
  state: 'READING' | 'DRAINING' | 'STOPPED';
  /** An entry is in its handler. */
  isBusy: boolean;
  /** Its acks are refused, its handler is told to stop. */
  isAborted: boolean;
  isEndless: boolean;
  honoursAbort: boolean;
  cancelEnd: () => void;
}

export interface ShardWorkParts {
  readonly world: RedisWorld;
  readonly process: SimulatedProcess;
  /** Of the client's own monotonic clock. */
  readonly nowMs: () => number;
  /** What the client itself believes. */
  readonly mayWork: () => boolean;
  readonly onLeaseDoubt: () => void;
  readonly onStarted: (shard: number, token: number) => void;
  readonly onAck: (use: ShardUse) => void;
  /** Nothing runs on the shard any more. */
  readonly onStopped: (shard: number) => void;
}

/**
 * The data plane of one client: reads entries of the shards that it was told to read, one after another, handles each for a
 * random time and acks it, as the SDK's workers do: it looks at the lease before it reads, handles and acks.
 */
export class ShardWork {
  private readonly workers = new Map<number, Worker>();
  private readonly stragglers = new Set<Worker>();
  private readonly waitingStarts = new Map<number, { readonly token: number; readonly lease: TenureLease }>();

  constructor(private readonly parts: ShardWorkParts) {}

  /** What is used at this instant, by workers whose tenure's lease holds. */
  usesNow(): readonly ShardUse[] {
    const uses: ShardUse[] = [];
    if (this.workers.size === 0 && this.stragglers.size === 0) return uses;
    const nowMs = this.parts.nowMs();
    for (const worker of this.workers.values()) {
      if (!this.stragglers.has(worker)) addUse(uses, worker, nowMs);
    }
    for (const worker of this.stragglers) addUse(uses, worker, nowMs);
    return uses;
  }

  readingShards(): number[] {
    return [...this.workers.values()].filter(({ state }) => state === 'READING').map(({ shard }) => shard);
  }

  inFlight(shard: number): number {
    return this.workers.get(shard)?.isBusy === true ? 1 : 0;
  }

  start(shard: number, token: number, lease: TenureLease): void {
    const worker = this.workers.get(shard);
    if (worker === undefined) this.create(shard, token, lease);
    else if (worker.state === 'READING') this.renewToken(shard, token);
    else {
      this.waitingStarts.set(shard, { token, lease });
      if (this.stragglers.has(worker)) this.replaceLater(worker);
    }
  }

  /** The shard is read on under another grant. */
  renewToken(shard: number, token: number): void {
    const waiting = this.waitingStarts.get(shard);
    if (waiting !== undefined) {
      this.waitingStarts.set(shard, { ...waiting, token });
      return;
    }
    const worker = this.workers.get(shard);
    if (worker === undefined) return;
    worker.token = token;
    this.parts.onStarted(shard, token);
  }

  /** Finishes what is in its handler, reads no more. */
  drain(shard: number): void {
    this.waitingStarts.delete(shard);
    const worker = this.workers.get(shard);
    if (worker?.state !== 'READING') return;
    worker.state = 'DRAINING';
    if (!worker.isBusy) this.stopSoon(worker);
  }

  abortDrain(shard: number): void {
    const worker = this.workers.get(shard);
    if (worker !== undefined) this.abort(worker);
  }

  /** The tenure is over: nothing is read or acked any more. A handler that ignores it goes on. */
  stopAll(): void {
    this.waitingStarts.clear();
    for (const worker of this.workers.values()) {
      if (worker.state === 'STOPPED') continue;
      worker.state = 'STOPPED';
      this.stragglers.add(worker);
      if (worker.isBusy) this.abort(worker);
      else this.stopSoon(worker);
    }
  }

  /** Handlers that would never end do so now. */
  endEndless(): void {
    for (const worker of [...this.workers.values(), ...this.stragglers]) {
      if (!worker.isEndless) continue;
      worker.isEndless = false;
      worker.cancelEnd = this.after(10, () => this.handled(worker));
    }
  }

  private create(shard: number, token: number, lease: TenureLease): void {
    const worker: Worker = {
      ...{ shard, token, lease, state: 'READING', isBusy: false, isAborted: false },
      ...{ isEndless: false, honoursAbort: true, cancelEnd: () => undefined },
    };
    this.workers.set(shard, worker);
    if (!this.parts.mayWork()) {
      this.parts.onLeaseDoubt(); // it woke up too late for what it had been told
      return;
    }
    this.parts.onStarted(shard, token);
    this.readLater(worker);
  }

  private readLater(worker: Worker): void {
    const { random } = this.parts.world;
    this.after(random.between(READ_MS.low, READ_MS.high), () => {
      if (worker.state !== 'READING') return;
      if (!this.parts.mayWork()) this.parts.onLeaseDoubt();
      else this.handle(worker);
    });
  }

  private handle(worker: Worker): void {
    const { random, plan } = this.parts.world;
    worker.isBusy = true;
    worker.honoursAbort = random.chance(0.7);
    worker.isEndless = plan.strikes('ENDLESS_HANDLER');
    if (worker.isEndless) return;
    const { low, high } = random.chance(0.12) ? LONG_HANDLE_MS : HANDLE_MS;
    worker.cancelEnd = this.after(random.between(low, high), () => this.handled(worker));
  }

  private abort(worker: Worker): void {
    if (worker.isAborted) return;
    worker.isAborted = true;
    if (!worker.isBusy || !worker.honoursAbort) return;
    worker.cancelEnd();
    worker.isEndless = false;
    this.after(this.parts.world.random.between(0.25, 20), () => this.handled(worker));
  }

  private handled(worker: Worker): void {
    if (!worker.isBusy) return;
    const { parts } = this;
    const mayAck = worker.state !== 'STOPPED' && !worker.isAborted;
    if (mayAck && parts.mayWork()) {
      parts.onAck({ shard: worker.shard, token: worker.token, what: 'reading' });
    }
    worker.isBusy = false;
    if (worker.state === 'READING') {
      if (parts.mayWork()) this.readLater(worker);
      else parts.onLeaseDoubt();
      return;
    }
    this.stopSoon(worker);
  }

  private stopSoon(worker: Worker): void {
    this.after(this.parts.world.random.between(0, 3), () => this.stopped(worker));
  }

  private stopped(worker: Worker): void {
    this.stragglers.delete(worker);
    if (this.workers.get(worker.shard) === worker) this.startNext(worker.shard);
  }

  private startNext(shard: number): void {
    this.workers.delete(shard);
    const next = this.waitingStarts.get(shard);
    this.waitingStarts.delete(shard);
    if (next === undefined) this.parts.onStopped(shard);
    else this.create(shard, next.token, next.lease);
  }

  private replaceLater(worker: Worker): void {
    this.after(STRAGGLER_WAIT_MS, () => {
      const { shard } = worker;
      if (this.workers.get(shard) === worker && this.waitingStarts.has(shard)) this.startNext(shard);
    });
  }

  private after(delayMs: number, run: () => void): () => void {
    return this.parts.world.scheduler.after(delayMs, this.parts.process, run);
  }
}

function addUse(uses: ShardUse[], worker: Worker, nowMs: number): void {
  const { shard, token, state, isBusy, lease } = worker;
  if (nowMs >= lease.endMs) return;
  if (state === 'READING') uses.push({ shard, token, what: 'reading' });
  else if (isBusy) uses.push({ shard, token, what: state === 'DRAINING' ? 'draining' : 'straggling' });
}
