import type { MonotonicMillis } from '../../domain/time';
import type { Clock } from '../consumer/clock';
import type { Delivery } from './delivery';

const CHECKS_PER_TIMEOUT = 50;
const MIN_CHECK_INTERVAL_MS = 5;

/**
 * Ends deliveries that are out of time. Those with the default timeout run out in the order of their coming: one timer serves
 * them all, which expires one up to a fiftieth of the timeout late. Others get a timer each.
 */
export class Deadlines {
  private readonly inOrder = new Map<Delivery, MonotonicMillis>();
  private readonly single = new Map<Delivery, () => void>();
  private cancelTimer: (() => void) | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly defaultTimeoutMs: number,
  ) {}

  add(delivery: Delivery): void {
    const { timeoutMs } = delivery;
    if (timeoutMs !== this.defaultTimeoutMs) {
      this.single.set(
        delivery,
        this.clock.after(timeoutMs, () => delivery.expire()),
      );
      return;
    }
    this.inOrder.set(delivery, (this.clock.nowMs() + timeoutMs) as MonotonicMillis);
    if (this.cancelTimer === null) this.check();
  }

  remove(delivery: Delivery): void {
    if (this.inOrder.delete(delivery)) return;
    this.single.get(delivery)?.();
    this.single.delete(delivery);
  }

  /** Ends all that is left. */
  close(reason: Error): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
    for (const delivery of [...this.inOrder.keys(), ...this.single.keys()]) delivery.fail(reason);
  }

  private check(): void {
    const nowMs = this.clock.nowMs();
    for (const [delivery, deadlineMs] of this.inOrder) {
      if (nowMs < deadlineMs) break;
      this.inOrder.delete(delivery);
      delivery.expire();
    }
    const intervalMs = Math.max(MIN_CHECK_INTERVAL_MS, this.defaultTimeoutMs / CHECKS_PER_TIMEOUT);
    this.cancelTimer = this.inOrder.size === 0 ? null : this.clock.after(intervalMs, () => this.check());
  }
}
