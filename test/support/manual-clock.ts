import type { MonotonicMillis } from '../../src/domain/time';
import type { Clock } from '../../src/client/consumer/clock';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A clock of the SDK that stands still until a test moves it. Timers fire in the order of their time. */
export class ManualClock implements Clock {
  private timeMs = 1_000_000;
  private readonly timers = new Set<Timer>();

  nowMs(): MonotonicMillis {
    return this.timeMs as MonotonicMillis;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.timeMs + Math.max(0, delayMs), callback };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  get timerCount(): number {
    return this.timers.size;
  }

  /** Moves on by `lengthMs`; between two timers everything that became ready runs. */
  async advance(lengthMs: number): Promise<void> {
    const endMs = this.timeMs + lengthMs;
    await settle();
    for (let next = this.nextTimer(endMs); next !== null; next = this.nextTimer(endMs)) {
      this.timers.delete(next);
      this.timeMs = Math.max(this.timeMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.timeMs = endMs;
  }

  private nextTimer(untilMs: number): Timer | null {
    const due = [...this.timers].filter(({ dueMs }) => dueMs <= untilMs);
    return due.sort((a, b) => a.dueMs - b.dueMs)[0] ?? null;
  }
}

/** Lets every continuation of promises run that is ready, and those that these make ready. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
