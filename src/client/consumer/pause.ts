import type { Clock } from './clock';

/** A wait that something goes through before it tries again: on or off, one at a time. */
export class Pause {
  private cancelTimer: (() => void) | null = null;

  constructor(private readonly clock: Clock) {}

  get isOn(): boolean {
    return this.cancelTimer !== null;
  }

  /** Does nothing while one is on. */
  start(delayMs: number, then: () => void): void {
    if (this.isOn) return;
    this.cancelTimer = this.clock.after(delayMs, () => {
      this.cancelTimer = null;
      then();
    });
  }

  cancel(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}
