/**
 * A process of the simulated world. What it does happens in events of its own: while it is paused they wait, in their order,
 * and once it has crashed none of them happens any more. Written by the schedule of faults only.
 */
export class SimulatedProcess {
  isAlive = true;
  resumesAtMs = 0;
  private readonly crashListeners = new Set<() => void>();

  constructor(readonly name: string) {}

  isPaused(nowMs: number): boolean {
    return this.resumesAtMs > nowMs;
  }

  crash(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    for (const listener of [...this.crashListeners]) listener();
  }

  onCrash(listener: () => void): () => void {
    this.crashListeners.add(listener);
    return () => this.crashListeners.delete(listener);
  }
}

interface ScheduledEvent {
  atMs: number;
  order: number;
  /** Whose event it is; null: of the world itself. */
  readonly process: SimulatedProcess | null;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Lets every promise continuation run that is ready, and those that these make ready. Much cheaper than setImmediate. */
async function settle(): Promise<void> {
  // Between two rounds of ticks Node empties the queue of microtasks: the tick comes when nothing else is left to do.
  await new Promise<void>((resolve) => {
    process.nextTick(resolve);
  });
}

/** Virtual time: a queue of events by time, then by the order in which they were asked for. Nothing waits for a real clock. */
export class Scheduler {
  nowMs = 0;
  steps = 0;
  private orders = 0;
  private readonly heap: ScheduledEvent[] = [];

  /** @returns cancels it. */
  after(delayMs: number, process: SimulatedProcess | null, run: () => void): () => void {
    this.orders += 1;
    // Quarters of a millisecond: sums of times stay exact.
    const atMs = Math.ceil((this.nowMs + Math.max(0, delayMs)) * 4) / 4;
    const event: ScheduledEvent = { atMs, order: this.orders, process, run, isCancelled: false };
    this.push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Runs every event up to `untilMs`, and `afterEach` when all that it made ready has been done. Ends early when told to. */
  async run(untilMs: number, afterEach: () => boolean): Promise<void> {
    for (let next = this.heap[0]; next !== undefined && next.atMs <= untilMs; next = this.heap[0]) {
      this.pop();
      if (next.isCancelled) continue;
      const { process } = next;
      if (process !== null) {
        if (!process.isAlive) continue;
        if (process.isPaused(next.atMs)) {
          next.atMs = process.resumesAtMs;
          // Behind those that were due before it.
          this.orders += 1;
          next.order = this.orders;
          this.push(next);
          continue;
        }
      }
      this.nowMs = next.atMs;
      this.steps += 1;
      next.run();
      await settle();
      if (!afterEach()) return;
    }
    this.nowMs = untilMs;
  }

  private push(event: ScheduledEvent): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up]!;
      if (!isBefore(event, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = event;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const down = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left;
      if (!isBefore(heap[down]!, last)) break;
      heap[at] = heap[down]!;
      at = down;
    }
    heap[at] = last;
  }
}

function isBefore(one: ScheduledEvent, other: ScheduledEvent): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
