import type { MonotonicMillis } from '../domain/time';
import type { Clock } from './runtime-ports';

export interface LullBounds {
  /** Time without a request after which the next one is not to be expected soon, milliseconds. */
  readonly lullMs: number;
  /** The wait ends at the latest after this, milliseconds. */
  readonly atMostMs: number;
}

/**
 * Requests that come after termination has begun. Each is answered, and told to close its connection; once none comes any
 * more, the listener can close without cutting off one that is on its way.
 */
export class LateRequests {
  private lastMs: MonotonicMillis | null = null;

  constructor(private readonly clock: Clock) {}

  came(): void {
    this.lastMs = this.clock.monotonicMs();
  }

  /** Resolves after a lull that begins now or later, or when the wait is over. */
  async lull({ lullMs, atMostMs }: LullBounds): Promise<void> {
    const startedMs = this.clock.monotonicMs();
    const endMs = startedMs + atMostMs;
    // Ends: each round either waits or returns, and there is no time behind endMs.
    for (;;) {
      const nowMs = this.clock.monotonicMs();
      const lullEndMs = Math.max(this.lastMs ?? startedMs, startedMs) + lullMs;
      if (nowMs >= Math.min(lullEndMs, endMs)) return;
      await this.pause(Math.min(lullEndMs, endMs) - nowMs);
    }
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.clock.schedule(Math.ceil(delayMs), resolve));
  }
}
