import type { MonotonicMillis } from '../../domain/time';

/** Time for everything below a consumer: tests and the simulation bring their own. */
export interface Clock {
  /** Milliseconds of a monotonic clock with an arbitrary start. Goes on while the process is stopped (SIGSTOP). */
  nowMs(): MonotonicMillis;
  /** Calls once after at least `delayMs`; returns how to cancel it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Longest delay that setTimeout takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => performance.now() as MonotonicMillis,
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
