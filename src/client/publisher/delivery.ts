import { PublishTimeoutError, PublishUncertainError } from './publish-errors';
import type { EntryFields } from './stream-appender';

export interface PublishedEntry {
  readonly streamKey: string;
  /** The id that Redis gave the entry. */
  readonly id: string;
  readonly shardIndex: number;
  /** It was sent twice, because no answer came to the first sending: it may be in the stream twice. */
  readonly duplicatePossible: boolean;
}

/**
 * One publish under way. Open until it is published, failed, or out of time, whichever comes first; what comes later changes
 * nothing. `unanswered` counts the sendings that may have been written: with any of them an error says that the outcome is
 * unknown.
 */
export class Delivery {
  readonly result: Promise<PublishedEntry>;
  streamKey = '';
  unanswered = 0;
  /** The stream was missing under an earlier route. */
  wasMissing = false;
  waitingFor = 'the start of the publisher';
  private settled = false;
  private wake: () => void = () => undefined;
  private resolve!: (entry: PublishedEntry) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly key: string,
    readonly fields: EntryFields,
    readonly timeoutMs: number,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  get isOver(): boolean {
    return this.settled;
  }

  succeed(shardIndex: number, id: string): void {
    this.settled = true;
    const duplicatePossible = this.unanswered > 1;
    this.resolve({ streamKey: this.streamKey, id, shardIndex, duplicatePossible });
  }

  /** Does nothing when it is over. */
  fail(cause: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.reject(
      this.unanswered > 0 ? new PublishUncertainError(this.streamKey, this.unanswered, { cause }) : cause,
    );
    this.wake();
  }

  expire(): void {
    this.fail(new PublishTimeoutError(this.waitingFor, this.timeoutMs));
  }

  /** Waits for what `subscribe` reports, or until the delivery is over. */
  async until(what: string, subscribe: (wake: () => void) => () => void): Promise<void> {
    if (this.settled) return;
    this.waitingFor = what;
    await new Promise<void>((resolve) => {
      const unsubscribe = subscribe(resolve);
      this.wake = () => {
        unsubscribe();
        resolve();
      };
    });
  }
}
