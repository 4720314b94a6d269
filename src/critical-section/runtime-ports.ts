import { randomInt, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { MonotonicMillis } from '../domain/time';

/** Time as this process sees it: never set back, and with no relation to the Redis clock. */
export interface Clock {
  monotonicMs(): MonotonicMillis;
  /** Calls back once after `delayMs`. @returns cancels it. */
  schedule(delayMs: number, callback: () => void): () => void;
  /** Calls back after the requests that are ready now have been looked at: what they ask for can share one call. */
  soon(callback: () => void): void;
}

export interface Random {
  /** Unguessable and never repeated: lock tokens, write ids. */
  id(): string;
  /** An integer in [0, limit). */
  below(limit: number): number;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now() as MonotonicMillis,
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  soon: (callback) => {
    setImmediate(callback);
  },
};

export const systemRandom: Random = {
  id: () => randomUUID(),
  below: (limit) => randomInt(limit),
};
