import type { Clock } from './clock';
import type { FlushTurn } from './flush-turn';

export interface AckBufferOptions {
  /** Sends one XACK; resolves when Redis answered. */
  readonly send: (ids: readonly string[]) => Promise<unknown>;
  /** Asked before each XACK: false refuses, and drops, everything that is buffered. */
  readonly mayAck: () => boolean;
  readonly clock: Clock;
  /** Full batches and those of an idle shard wait for the end of the turn. */
  readonly turn: FlushTurn;
  readonly onConfirmed: (ids: readonly string[]) => void;
  readonly onRefused: (count: number) => void;
  readonly onFailure: (error: unknown) => void;
  /** Nothing is buffered or under way any more. */
  readonly onSettled: () => void;
}

/** Ids that are worth an XACK, and the most that one carries. */
const BATCH_SIZE = 100;
const MAX_IDS = 1_000;
/** Milliseconds that the first id of a batch waits for others, at most: what a crash makes another consumer handle again. */
const MAX_DELAY_MS = 5;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 1_000;

/**
 * Acks of one shard, in batches. States: open, and closed (for good: acks are refused, XACKs under way are no longer waited
 * for). An id stays in the buffer until Redis confirmed it; a batch that failed is sent again, as an XACK may be repeated.
 */
export class AckBuffer {
  private buffered: string[] = [];
  private underWay = 0;
  private isClosed = false;
  private failures = 0;
  private isBackingOff = false;
  private cancelTimer: (() => void) | null = null;

  constructor(private readonly options: AckBufferOptions) {}

  get isSettled(): boolean {
    return this.isClosed || (this.buffered.length === 0 && this.underWay === 0);
  }

  /** Ids that Redis has not confirmed. */
  get unconfirmed(): number {
    return this.buffered.length + this.underWay;
  }

  /** False when it was refused. */
  add(id: string): boolean {
    if (this.isClosed) {
      this.options.onRefused(1);
      return false;
    }
    this.buffered.push(id);
    if (this.buffered.length === BATCH_SIZE) this.options.turn.request(this);
    else if (this.cancelTimer === null) this.setTimer(MAX_DELAY_MS);
    return true;
  }

  /** Nothing more is coming for now. */
  flushSoon(): void {
    if (this.buffered.length > 0) this.options.turn.request(this);
  }

  flush(): void {
    if (this.isClosed || this.isBackingOff || this.buffered.length === 0) return;
    if (!this.options.mayAck()) {
      this.close();
      return;
    }
    this.clearTimer();
    while (this.buffered.length > 0) this.send(this.buffered.splice(0, MAX_IDS));
  }

  close(): void {
    if (this.isClosed) return;
    this.clearTimer();
    this.isClosed = true;
    const refused = this.buffered.length;
    this.buffered = [];
    if (refused > 0) this.options.onRefused(refused);
    this.options.onSettled();
  }

  private send(ids: string[]): void {
    this.underWay += ids.length;
    this.options.send(ids).then(
      () => {
        this.underWay -= ids.length;
        this.failures = 0;
        this.options.onConfirmed(ids);
        if (!this.isClosed && this.isSettled) this.options.onSettled();
      },
      (error: unknown) => {
        this.underWay -= ids.length;
        this.options.onFailure(error);
        if (this.isClosed) return;
        this.buffered.unshift(...ids);
        this.backOff();
      },
    );
  }

  private backOff(): void {
    if (this.isBackingOff) return;
    this.isBackingOff = true;
    this.clearTimer();
    this.setTimer(Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.failures, 10)));
    this.failures += 1;
  }

  private setTimer(delayMs: number): void {
    this.cancelTimer = this.options.clock.after(delayMs, () => {
      this.cancelTimer = null;
      this.isBackingOff = false;
      this.flush();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}
