import type { MonotonicMillis } from '../domain/time';
import type { Clock } from './runtime-ports';

export interface LullBounds {
  /** Time without a request after which the next one is not to be expected soon, milliseconds. */
  readonly lullMs: number;
  /** The wait ends at the latest after this, milliseconds. */
  readonly atMostMs: number;
}

const CONNECTIONS_POLL_MS = 20;

/**
 * Requests that come after termination has begun. Each is answered, and its connection closed with the answer, so that its
 * client has nothing left to send the next one on. Once no connection is open and no request comes any more, the listener
 * can close without cutting off one that is on its way.
 */
export class LateRequests {
  private lastMs: MonotonicMillis | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly openConnections: () => Promise<number>,
  ) {}

  came(): void {
    this.lastMs = this.clock.monotonicMs();
  }

  /** Resolves when all clients have gone and stay away, or when the wait is over: some hold connections without using them. */
  async lull({ lullMs, atMostMs }: LullBounds): Promise<void> {
    const endMs = this.clock.monotonicMs() + atMostMs;
    // Ends: every round waits, and there is none behind endMs.
    while (this.clock.monotonicMs() < endMs) {
      const openConnections = await this.openConnections();
      const isLull = this.lastMs === null || this.clock.monotonicMs() - this.lastMs >= lullMs;
      if (openConnections === 0 && isLull) return;
      await this.pause(CONNECTIONS_POLL_MS);
    }
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.clock.schedule(delayMs, resolve));
  }
}
