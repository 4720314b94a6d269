import type { Clock } from './clock';
import { backoffMs } from './outcome';
import { Pause } from './pause';

const FAULT_BACKOFF = { firstMs: 50, maxMs: 2_000 };

/** The waits between attempts at something that Redis refuses: they grow with each failure, until one succeeds. */
export class FaultPause {
  private readonly pause: Pause;
  private failures = 0;

  constructor(
    clock: Clock,
    private readonly random: () => number,
  ) {
    this.pause = new Pause(clock);
  }

  get isOn(): boolean {
    return this.pause.isOn;
  }

  start(then: () => void): void {
    if (this.isOn) return;
    this.pause.start(backoffMs(FAULT_BACKOFF, this.failures, this.random), then);
    this.failures += 1;
  }

  succeeded(): void {
    this.failures = 0;
  }

  cancel(): void {
    this.pause.cancel();
  }
}
