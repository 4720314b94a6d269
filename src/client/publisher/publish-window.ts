import { BackpressureError } from './publish-errors';

/** Batches that may wait for a free place at once. Each holds its own entries, so that their number is the caller's memory. */
const MAX_WAITING_BATCHES = 64;

/** The places of publishes under way: a bound on memory and on what a lost connection leaves uncertain. */
export class PublishWindow {
  private taken = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly onEmpty: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  get inFlight(): number {
    return this.taken;
  }

  get isFull(): boolean {
    return this.taken >= this.limit;
  }

  /** Throws BackpressureError when all places are taken. */
  enter(): void {
    if (this.isFull) throw new BackpressureError('publishes', this.limit);
    this.taken += 1;
  }

  leave(): void {
    this.taken -= 1;
    this.waiting.shift()?.();
    if (this.taken === 0) for (const resolve of this.onEmpty.splice(0)) resolve();
  }

  /** Null once there is a free place, in order of asking; an error when too many wait for one. */
  async whenFree(): Promise<BackpressureError | null> {
    while (this.isFull) {
      if (this.waiting.length >= MAX_WAITING_BATCHES) {
        return new BackpressureError('batches', MAX_WAITING_BATCHES);
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    return null;
  }

  async whenEmpty(): Promise<void> {
    if (this.taken > 0) await new Promise<void>((resolve) => this.onEmpty.push(resolve));
  }
}
