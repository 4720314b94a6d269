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

const nothing = (): void => undefined;

/**
 * One publish under way. Open until it is published, failed, or out of time, whichever comes first; what comes later changes
 * nothing. `unanswered` counts the sendings that may have been written: with any of them an error says that the outcome is
 * unknown.
 */
export class Delivery {
  readonly result: Promise<PublishedEntry>;
  streamKey = '';
  shardIndex = 0;
  unanswered = 0;
  /** The stream was missing under an earlier route. */
  wasMissing = false;
  waitingFor = 'the start of the publisher';
  /** Called once, when it is over. */
  onOver: () => void = nothing;
  private settled = false;
  private wake: () => void = nothing;
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

  isOver(): boolean {
    return this.settled;
  }

  /** Does nothing when it is over. */
  succeed(id: string): void {
    if (this.settled) return;
    this.settled = true;
    this.onOver();
    const { streamKey, shardIndex, unanswered } = this;
    this.resolve({ streamKey, id, shardIndex, duplicatePossible: unanswered > 1 });
  }

  /** Does nothing when it is over. */
  fail(cause: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.onOver();
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
