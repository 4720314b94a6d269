import type { ShardIndex } from '../../domain/ids';
import { streamKey } from '../../domain/routing/shard-keys';
import type { ShardProgress } from '../../protocol';
import type { RawEntry } from '../redis/group-commands';
import { redisFaultOf } from '../redis/redis-faults';
import { AckBuffer } from './ack-buffer';
import type { Attempt } from './attempt';
import { EntrySource } from './entry-source';
import type { HandledShard } from './message';
import { backoffMs } from './outcome';
import { Pause } from './pause';
import { PendingCare } from './pending-care';
import type { WorkerEnvironment, WorkerListener } from './worker-environment';

/** Trouble with Redis that concerns one shard: list again, read again. Milliseconds. */
const FAULT_BACKOFF = { firstMs: 50, maxMs: 2_000 };
/** With `ackMode: 'manual'`: handled entries without an ack, above which the shard is not read further. */
const MAX_UNACKED = 1_000;
/** A shard is read again when no more than this share of a batch is left to be handled. */
const READ_AGAIN_SHARE = 0.5;

/**
 * The work on one shard in one tenure, entry by entry.
 * TAKEOVER  pending entries of former owners, in id order; nothing new is read
 * READING   new entries
 * DRAINING  no read, nothing new is handled; waits for the handler, the read under way and the acks
 * STOPPED   no read, no handler, no ack; what still runs is aborted and its outcome dropped
 * From TAKEOVER to READING when nothing is left pending; back, when something may be pending that was never seen here (a lost
 * reply, a stranger's late read), once everything at hand is done. Nothing returns from DRAINING or STOPPED: a shard that is
 * assigned again gets another worker, after this one has told that it stopped.
 */
export class ShardWorker implements HandledShard {
  readonly streamKey: string;
  readonly memberId: string;
  private state: 'TAKEOVER' | 'READING' | 'DRAINING' | 'STOPPED' = 'TAKEOVER';
  private readonly source: EntrySource;
  private readonly acks: AckBuffer;
  private readonly care: PendingCare;
  private readonly abortController = new AbortController();
  private inHand: Attempt | null = null;
  private isInRead = false;
  private isListing = false;
  private isTakeoverWanted = false;
  /** Before an entry is tried again. */
  private readonly retryPause: Pause;
  /** After trouble with this shard's stream: neither listed nor read while it is on. */
  private readonly faultPause: Pause;
  private faults = 0;
  private ending: 'NO' | 'UNDER_WAY' | 'TOLD' = 'NO';
  /** Delivered to this consumer and never tried: at a drain their delivery is not to count. */
  private untried: string[] = [];
  /** Handled, and the application has not acked them yet. */
  private readonly unacked = new Set<string>();
  private lastDeliveredId: string | null = null;
  private lastAckedId: string | null = null;

  constructor(
    readonly shard: ShardIndex,
    public token: number,
    private readonly environment: WorkerEnvironment,
    private readonly listener: WorkerListener,
  ) {
    const { clock, commands, metrics, faults } = environment;
    this.streamKey = streamKey(environment.streamPrefix, shard);
    this.memberId = environment.memberId;
    this.source = new EntrySource(async (afterId, count) =>
      commands.pendingPage(this.streamKey, afterId, count),
    );
    this.retryPause = new Pause(clock);
    this.faultPause = new Pause(clock);
    this.care = new PendingCare(environment, this.streamKey);
    this.acks = new AckBuffer({
      send: async (ids) => commands.ack(this.streamKey, ids),
      mayAck: () => environment.mayWork(),
      clock,
      onConfirmed: (ids) => {
        this.lastAckedId = ids.at(-1) ?? this.lastAckedId;
        metrics.entries('acked', ids.length);
      },
      onRefused: (count) => metrics.entries('ack_refused', count),
      onFailure: (error) => faults.report('ACK', error),
      onSettled: () => this.advance(),
    });
  }

  get signal(): AbortSignal {
    return this.abortController.signal;
  }

  get isActive(): boolean {
    return this.state === 'TAKEOVER' || this.state === 'READING';
  }

  /** Whether the outcome of a handler still counts. */
  get acceptsOutcomes(): boolean {
    return this.state !== 'STOPPED' && !this.signal.aborted && this.environment.mayWork();
  }

  get inFlight(): number {
    return this.inHand === null ? 0 : 1;
  }

  progress(): ShardProgress {
    return {
      shard: { shardIndex: this.shard },
      streamKey: this.streamKey,
      lastDeliveredId: this.lastDeliveredId,
      lastAckedId: this.lastAckedId,
      pendingCount: this.source.waiting + this.inFlight + this.acks.unconfirmed + this.unacked.size,
    };
  }

  // Commanded by the member session.

  start(): void {
    this.listPending();
  }

  /** The shard was granted anew while it is read: what somebody may have left pending in between comes first. */
  regranted(token: number): void {
    this.token = token;
    this.wantTakeover();
  }

  drain(): void {
    if (!this.isActive) return;
    this.state = 'DRAINING';
    this.dropWaiting();
    this.advance();
  }

  abortDrain(): void {
    this.abortController.abort();
    this.acks.close();
    this.advance();
  }

  stop(): void {
    this.state = 'STOPPED';
    this.abortController.abort();
    this.dropWaiting();
    this.acks.close();
    this.advance();
  }

  private dropWaiting(): void {
    this.retryPause.cancel();
    this.faultPause.cancel();
    this.untried.push(...this.source.clear());
    if (this.isInRead) this.listener.onReadUnwanted();
  }

  // Asked and told by the reader.

  get wantsRead(): boolean {
    return this.mayRead && this.source.undone <= this.environment.handling.readCount * READ_AGAIN_SHARE;
  }

  /** Will want to be read as soon as a few more of its entries are done. */
  get willWantRead(): boolean {
    return this.mayRead && !this.wantsRead;
  }

  private get mayRead(): boolean {
    if (this.state !== 'READING' || this.isInRead || this.isTakeoverWanted || this.faultPause.isOn)
      return false;
    return !this.source.isWaitingToTryAgain && this.unacked.size < MAX_UNACKED;
  }

  readStarted(): void {
    this.isInRead = true;
  }

  /** What is delivered to a shard that is not read any more stays pending: it is its next owner's. */
  readEnded(entries: readonly RawEntry[]): void {
    this.isInRead = false;
    if (entries.length > 0) {
      this.faults = 0;
      this.lastDeliveredId = entries.at(-1)?.[0] ?? this.lastDeliveredId;
      if (this.isActive) {
        this.source.deliver(entries);
        this.listener.onReady();
        return;
      }
      this.untried.push(...entries.map(([id]) => id));
    }
    this.advance();
  }

  /** The reply was lost: whatever it held is pending under this consumer's own name. */
  readLost(): void {
    this.isTakeoverWanted = true;
    this.readEnded([]);
  }

  /** The stream or its group is gone: this shard alone waits for them to come back. */
  streamMissing(): void {
    this.isTakeoverWanted = true;
    this.backOff();
    this.readEnded([]);
  }

  /** Entries are pending that nobody here has seen. */
  wantTakeover(): void {
    if (!this.isActive || this.isTakeoverWanted) return;
    this.isTakeoverWanted = true;
    if (this.isInRead) this.listener.onReadUnwanted();
    this.advance();
  }

  /** Looks for entries that another consumer name took late (a read that was under way when its lease ended). */
  async checkForStrangers(): Promise<void> {
    if (this.state !== 'READING' || this.faultPause.isOn) return;
    if (await this.care.hasStrangers()) this.wantTakeover();
  }

  // Taken and given back by the runner.

  /** The next entry to handle, null when none is ready. */
  next(): Attempt | null {
    if (!this.isActive || this.inHand !== null) return null;
    this.inHand = this.source.take((id) => this.unacked.has(id));
    if (this.inHand === null) this.advance();
    return this.inHand;
  }

  /** Done for good: to be acked. */
  completed(attempt: Attempt): void {
    this.inHand = null;
    this.acks.add(attempt.id);
    if (this.source.undone === 0) this.acks.flush();
    if (this.source.undone === 0 || this.state !== 'READING') this.advance();
    else if (this.wantsRead) this.listener.onReadInterest();
  }

  /** Neither to be acked nor to be tried again by this worker: it stays pending, or is gone. */
  released(): void {
    this.inHand = null;
    this.advance();
  }

  /** Handled; the application acks it, or has. */
  leftToApplication(attempt: Attempt): void {
    if (!attempt.isAcked) this.unacked.add(attempt.id);
    this.released();
  }

  ackByHand(id: string): boolean {
    if (this.environment.handling.ackMode !== 'manual' || !this.acceptsOutcomes) return false;
    const attempt = this.inHand?.id === id ? this.inHand : null;
    const isOpen = attempt === null ? this.unacked.delete(id) : !attempt.isAcked;
    if (!isOpen) return false;
    if (attempt !== null) attempt.isAcked = true;
    const isAccepted = this.acks.add(id);
    this.listener.onReadInterest();
    return isAccepted;
  }

  /** The same entry again after a backoff; nothing behind it is handled before. */
  tryLater(attempt: Attempt): void {
    this.inHand = null;
    if (this.isActive) {
      const { handling, random } = this.environment;
      const again = this.source.tryAgain(attempt);
      const delayMs = backoffMs(handling.retry, attempt.failures, random);
      attempt.failures += 1;
      attempt.needsClaim = attempt.deadLetter === null;
      this.acks.flush();
      this.retryPause.start(delayMs, () => {
        again.due();
        this.listener.onReady();
      });
    }
    this.advance();
  }

  // Within.

  /** Goes on to whatever comes next. Called whenever something ended; may be called at any time. */
  private advance(): void {
    if (!this.isActive) {
      this.finishWhenIdle();
      return;
    }
    if (this.state === 'TAKEOVER') {
      if (this.source.isWaitingToTryAgain || this.inHand !== null) return;
      if (this.source.isTakeoverDone) this.beginReading();
      else if (this.source.isPageUsedUp) this.listPending();
      return;
    }
    if (this.isTakeoverWanted) this.returnToTakeover();
    else if (this.wantsRead) this.listener.onReadInterest();
  }

  private beginReading(): void {
    this.state = 'READING';
    this.listener.onReadInterest();
    this.care.removeFormerConsumers().catch(() => undefined); // reports on its own
  }

  /** Only with nothing at hand: whatever is listed then was never seen here. */
  private returnToTakeover(): void {
    this.acks.flush();
    const isIdle = this.inHand === null && this.source.waiting === 0 && this.acks.isSettled;
    if (!isIdle || this.isInRead || this.faultPause.isOn) return;
    this.isTakeoverWanted = false;
    this.state = 'TAKEOVER';
    this.source.restartTakeover();
    this.listPending();
  }

  private listPending(): void {
    if (this.isListing || this.faultPause.isOn || !this.environment.mayWork()) return;
    this.isListing = true;
    this.source.loadPage().then(
      () => {
        this.isListing = false;
        this.faults = 0;
        if (this.isActive && !this.source.isPageUsedUp) this.listener.onReady();
        else this.advance();
      },
      (error: unknown) => {
        this.isListing = false;
        this.environment.faults.report(`TAKEOVER ${redisFaultOf(error)}`, error);
        this.backOff();
      },
    );
  }

  private backOff(): void {
    const delayMs = backoffMs(FAULT_BACKOFF, this.faults, this.environment.random);
    this.faults += 1;
    this.faultPause.start(delayMs, () => this.advance());
  }

  private finishWhenIdle(): void {
    if (this.ending !== 'NO' || this.inHand !== null || this.isInRead) return;
    if (this.state === 'DRAINING') this.acks.flush();
    if (!this.acks.isSettled) return;
    this.ending = 'UNDER_WAY';
    const mayTidy = this.state === 'DRAINING' && this.acceptsOutcomes;
    const tidied = mayTidy ? this.care.leaveTidy(this.untried) : Promise.resolve();
    tidied.then(
      () => this.tellStopped(),
      () => this.tellStopped(),
    );
  }

  private tellStopped(): void {
    this.state = 'STOPPED';
    this.ending = 'TOLD';
    this.listener.onStopped();
  }
}
