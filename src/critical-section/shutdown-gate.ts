import type { Clock } from './runtime-ports';
import { CoordinatorTerminatingError } from './section-errors';

/**
 * The gate that every command passes twice: on entering, and again before the Redis lock.
 * OPEN    all pass
 * CLOSED  (once, for good) nobody passes any more; who waits is refused by the listeners; who has asked Redis for the lock
 *         (`holding`) may finish, and `drained` tells when all of them have.
 * `entered` counts those between their entrance and their answer; only `enter` and `leave` write it. `holding` counts calls
 * that may hold a Redis lock or carry a renewal; only `hold` and `release` write it.
 */
export class ShutdownGate {
  private closed = false;
  private entered = 0;
  private holding = 0;
  private readonly closeListeners = new Set<() => void>();
  private readonly drainListeners = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  get isClosed(): boolean {
    return this.closed;
  }

  get enteredCount(): number {
    return this.entered;
  }

  get holdingCount(): number {
    return this.holding;
  }

  /** @throws CoordinatorTerminatingError once the gate is closed. */
  enter(): void {
    if (this.closed) throw new CoordinatorTerminatingError();
    this.entered += 1;
  }

  leave(): void {
    this.entered -= 1;
  }

  /** Asked again right before Redis is: from here on the caller is waited for. @throws CoordinatorTerminatingError */
  hold(): void {
    if (this.closed) throw new CoordinatorTerminatingError();
    this.holding += 1;
  }

  release(): void {
    this.holding -= 1;
    if (this.holding === 0) for (const listener of [...this.drainListeners]) listener();
  }

  /** Called at once when the gate closes (also when it is closed already). @returns ends the subscription. */
  onClose(listener: () => void): () => void {
    if (this.closed) {
      listener();
      return () => undefined;
    }
    this.closeListeners.add(listener);
    return () => this.closeListeners.delete(listener);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    const listeners = [...this.closeListeners];
    this.closeListeners.clear();
    for (const listener of listeners) listener();
  }

  /** Whether all that held a lock have finished, waiting for them at most `deadlineMs` milliseconds. */
  drained(deadlineMs: number): Promise<boolean> {
    if (this.holding === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (isDrained: boolean): void => {
        cancel();
        this.drainListeners.delete(onDrained);
        resolve(isDrained);
      };
      const onDrained = (): void => finish(true);
      const cancel = this.clock.schedule(deadlineMs, () => finish(false));
      this.drainListeners.add(onDrained);
    });
  }
}
