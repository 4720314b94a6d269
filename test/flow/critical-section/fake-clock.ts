import type { Clock } from '../../../src/critical-section/runtime-ports';
import type { MonotonicMillis } from '../../../src/domain/time';

interface Alarm {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A monotonic clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  private nowMs = 1_000;
  private order = 0;
  private readonly alarms = new Set<Alarm>();

  get pendingAlarms(): number {
    return this.alarms.size;
  }

  monotonicMs(): MonotonicMillis {
    return this.nowMs as MonotonicMillis;
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const alarm = { dueMs: this.nowMs + delayMs, order: (this.order += 1), callback };
    this.alarms.add(alarm);
    return () => this.alarms.delete(alarm);
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  /** Moves on, ringing each alarm at its time and letting what it started run before the next. */
  async advance(lengthMs: number): Promise<void> {
    await settle();
    const untilMs = this.nowMs + lengthMs;
    for (;;) {
      const [next] = [...this.alarms]
        .filter(({ dueMs }) => dueMs <= untilMs)
        .sort((one, other) => one.dueMs - other.dueMs || one.order - other.order);
      if (next === undefined) break;
      this.alarms.delete(next);
      this.nowMs = Math.max(this.nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.nowMs = untilMs;
    await settle();
  }

  /** Moves on without ringing: the process was stopped, its clock was not. */
  jump(lengthMs: number): void {
    this.nowMs += lengthMs;
  }
}

/** Lets everything run that needs no more time: promises and callbacks of the next event-loop turns. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
