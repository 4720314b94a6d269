import type { PendingEntry, RawEntry } from '../redis/group-commands';
import { deliveredAttempt, pendingAttempt } from './attempt';
import type { Attempt } from './attempt';
import { backoffMs } from './outcome';
import { Pause } from './pause';
import type { WorkerEnvironment } from './worker-environment';

/** Pending entries listed at once. */
const PAGE_SIZE = 100;

/**
 * The entries of one shard that wait to be handled, in order: the one that is tried again, then what former owners left
 * pending, then what was read. While one waits to be tried again, nothing behind it comes out.
 * Former owners' entries are only listed here; each is claimed right before it is handled, so that its delivery count counts
 * attempts, and not how often it was passed on beside an entry that kills processes.
 */
export class EntrySource {
  private delivered: readonly RawEntry[] = [];
  private deliveredStart = 0;
  private page: readonly PendingEntry[] = [];
  private pageStart = 0;
  private lastListedId: string | null = null;
  private isListComplete = false;
  private isListing = false;
  private again: Attempt | null = null;
  /** Before `again` is tried. */
  private readonly pause: Pause;

  constructor(
    private readonly environment: WorkerEnvironment,
    private readonly streamKey: string,
  ) {
    this.pause = new Pause(environment.clock);
  }

  /** Delivered entries that are not taken yet. */
  get undone(): number {
    return this.delivered.length - this.deliveredStart;
  }

  /** Entries that wait here, of all kinds, as far as they are known. */
  get waiting(): number {
    return this.undone + this.page.length - this.pageStart + (this.again === null ? 0 : 1);
  }

  get isWaitingToTryAgain(): boolean {
    return this.again !== null;
  }

  /** Nothing is listed that was not taken. */
  get isPageUsedUp(): boolean {
    return this.pageStart >= this.page.length;
  }

  get isTakeoverDone(): boolean {
    return this.isListComplete && this.isPageUsedUp;
  }

  /** `isHandled`: entries that are pending only because the application has not acked them yet. */
  take(isHandled: (id: string) => boolean): Attempt | null {
    if (this.again !== null) return this.takeAgain();
    for (let entry = this.page[this.pageStart]; entry !== undefined; entry = this.page[this.pageStart]) {
      this.pageStart += 1;
      if (!isHandled(entry.id)) return pendingAttempt(entry.id, entry.deliveries);
    }
    const entry = this.delivered[this.deliveredStart];
    if (entry === undefined) return null;
    this.deliveredStart += 1;
    return deliveredAttempt(entry[0], entry[1] ?? []);
  }

  private takeAgain(): Attempt | null {
    if (this.pause.isOn) return null;
    const attempt = this.again;
    this.again = null;
    return attempt;
  }

  deliver(entries: readonly RawEntry[]): void {
    this.delivered = this.undone === 0 ? entries : [...this.delivered.slice(this.deliveredStart), ...entries];
    this.deliveredStart = 0;
  }

  /** Puts an entry back to the front; it comes out after a backoff, when `then` is called. */
  tryLater(attempt: Attempt, then: () => void): void {
    const { handling, random } = this.environment;
    this.again = attempt;
    this.pause.start(backoffMs(handling.retry, attempt.failures, random), then);
    attempt.failures += 1;
    attempt.needsClaim = attempt.deadLetter === null;
  }

  restartTakeover(): void {
    this.page = [];
    this.pageStart = 0;
    this.lastListedId = null;
    this.isListComplete = false;
  }

  /** Lists the next page of pending entries, unless that is under way. A fault leaves everything as it was. */
  list(onListed: () => void, onFault: (error: unknown) => void): void {
    if (this.isListing) return;
    this.isListing = true;
    this.loadPage().then(
      () => {
        this.isListing = false;
        onListed();
      },
      (error: unknown) => {
        this.isListing = false;
        onFault(error);
      },
    );
  }

  private async loadPage(): Promise<void> {
    const { commands } = this.environment;
    const page = await commands.pendingPage(this.streamKey, this.lastListedId, PAGE_SIZE);
    this.page = page;
    this.pageStart = 0;
    this.lastListedId = page.at(-1)?.id ?? this.lastListedId;
    this.isListComplete = page.length < PAGE_SIZE;
  }

  /** Forgets everything; returns what was delivered and never tried. */
  clear(): string[] {
    const untried = this.delivered.slice(this.deliveredStart).map(([id]) => id);
    this.delivered = [];
    this.deliveredStart = 0;
    this.again = null;
    this.pause.cancel();
    this.restartTakeover();
    return untried;
  }
}
