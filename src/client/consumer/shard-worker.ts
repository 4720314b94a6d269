import type { ShardIndex } from '../../domain/ids';
import { streamKey } from '../../domain/routing/shard-keys';
import type { ShardProgress } from '../../protocol';
import type { RawEntry } from '../redis/group-commands';
import { redisFaultOf } from '../redis/redis-faults';
import type { AckBuffer } from './ack-buffer';
import type { Attempt } from './attempt';
import { EntrySource } from './entry-source';
import { FaultPause } from './fault-pause';
import { ManualAcks } from './manual-acks';
import type { HandledShard } from './message';
import { PendingCare } from './pending-care';
import { ShardPosition } from './shard-position';
import { shardAcks } from './shard-acks';
import { ShardEnding } from './shard-ending';
import type { WorkerEnvironment, WorkerListener } from './worker-environment';

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
  private readonly manualAcks: ManualAcks;
  private readonly care: PendingCare;
  private readonly abortController = new AbortController();
  private inHand: Attempt | null = null;
  private isInRead = false;
  private isTakeoverWanted = false;
  private takeoverStartMs: number;
  /** After trouble with this shard's stream: neither listed nor read while it is on. */
  private readonly faultPause: FaultPause;
  private readonly ending: ShardEnding;
  private readonly position = new ShardPosition();

  constructor(
    readonly shard: ShardIndex,
    public token: number,
    private readonly environment: WorkerEnvironment,
    private readonly listener: WorkerListener,
  ) {
    this.streamKey = streamKey(environment.streamPrefix, shard);
    this.memberId = environment.memberId;
    this.takeoverStartMs = environment.clock.nowMs();
    this.source = new EntrySource(environment, this.streamKey);
    this.faultPause = new FaultPause(environment.clock, environment.random);
    this.care = new PendingCare(environment, this.streamKey);
    this.acks = shardAcks(environment, this.streamKey, {
      onConfirmed: (lastId) => this.position.acked(lastId),
      onSettled: () => this.advance(),
    });
    this.ending = new ShardEnding(this.care, () => {
      this.state = 'STOPPED';
      this.listener.onStopped();
    });
    this.manualAcks = new ManualAcks(this.acks);
  }

  get signal(): AbortSignal {
    return this.abortController.signal;
  }

  get isActive(): boolean {
    return this.state === 'TAKEOVER' || this.state === 'READING';
  }

  /** Whether the outcome of a handler still counts, the lease aside, which every ack looks at when it is sent. */
  get isOpen(): boolean {
    return this.state !== 'STOPPED' && !this.signal.aborted;
  }

  /** Whether the outcome of a handler still counts. */
  get acceptsOutcomes(): boolean {
    return this.isOpen && this.environment.mayWork();
  }

  get inFlight(): number {
    return this.inHand === null ? 0 : 1;
  }

  progress(): ShardProgress {
    const { source, inFlight, acks, manualAcks } = this;
    const pending = source.waiting + inFlight + acks.unconfirmed + manualAcks.count;
    return this.position.progress(this.shard, this.streamKey, pending);
  }

  start(): void {
    this.listPending();
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
    this.faultPause.cancel();
    this.ending.leavesUntried(this.source.clear());
    if (this.isInRead) this.listener.onReadUnwanted();
  }

  /** Asked by the reader. */
  get wantsRead(): boolean {
    return this.mayRead && this.source.undone <= this.environment.handling.readCount * READ_AGAIN_SHARE;
  }

  /** Will want to be read as soon as a few more of its entries are done. */
  get willWantRead(): boolean {
    return this.mayRead && !this.wantsRead;
  }

  private get mayRead(): boolean {
    const isHeldBack = this.isInRead || this.isTakeoverWanted || this.faultPause.isOn;
    if (this.state !== 'READING' || isHeldBack) return false;
    return !this.source.isWaitingToTryAgain && !this.manualAcks.isFull;
  }

  readStarted(): void {
    this.isInRead = true;
  }

  /** What is delivered to a shard that is not read any more stays pending: it is its next owner's. */
  readEnded(entries: readonly RawEntry[]): void {
    this.isInRead = false;
    if (entries.length > 0) {
      this.faultPause.succeeded();
      this.position.delivered(entries);
      if (this.isActive) {
        this.source.deliver(entries);
        this.listener.onReady();
        return;
      }
      this.ending.leavesUntried(entries.map(([id]) => id));
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

  /** The next entry to handle, null when none is ready. */
  next(): Attempt | null {
    if (!this.isActive || this.inHand !== null) return null;
    this.inHand = this.source.take((id) => this.manualAcks.has(id));
    if (this.inHand === null) this.advance();
    return this.inHand;
  }

  /** Done for good: to be acked. */
  completed(attempt: Attempt): void {
    this.inHand = null;
    this.acks.add(attempt.id);
    if (this.source.undone === 0) this.acks.flushSoon();
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
    this.manualAcks.handled(attempt);
    this.released();
  }

  ackByHand(id: string): boolean {
    if (this.environment.handling.ackMode !== 'manual' || !this.acceptsOutcomes) return false;
    const isAccepted = this.manualAcks.ack(id, this.inHand);
    this.listener.onReadInterest();
    return isAccepted;
  }

  /** The same entry again after a backoff; nothing behind it is handled before. */
  tryLater(attempt: Attempt): void {
    this.inHand = null;
    this.acks.flush();
    if (this.isActive) this.source.tryLater(attempt, () => this.listener.onReady());
    this.advance();
  }

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
    this.environment.metrics.takenOver(this.environment.clock.nowMs() - this.takeoverStartMs);
    this.advance();
    this.care.removeFormerConsumers().catch(() => undefined); // reports on its own
  }

  /** Only with nothing at hand: whatever is listed then was never seen here. */
  private returnToTakeover(): void {
    this.acks.flush();
    const isIdle = this.inHand === null && this.source.waiting === 0 && this.acks.isSettled;
    if (!isIdle || this.isInRead || this.faultPause.isOn) return;
    this.isTakeoverWanted = false;
    this.state = 'TAKEOVER';
    this.takeoverStartMs = this.environment.clock.nowMs();
    this.source.restartTakeover();
    this.listPending();
  }

  private listPending(): void {
    if (this.faultPause.isOn || !this.environment.mayWork()) return;
    this.source.list(
      () => {
        this.faultPause.succeeded();
        if (this.isActive && !this.source.isPageUsedUp) this.listener.onReady();
        else this.advance();
      },
      (error) => {
        this.environment.faults.report(`TAKEOVER ${redisFaultOf(error)}`, error);
        this.backOff();
      },
    );
  }

  private backOff(): void {
    if (this.isActive) this.faultPause.start(() => this.advance());
  }

  private finishWhenIdle(): void {
    if (this.inHand !== null || this.isInRead || this.ending.hasBegun) return;
    if (this.state === 'DRAINING') this.acks.flush();
    if (this.acks.isSettled) this.ending.begin(this.state === 'DRAINING' && this.acceptsOutcomes);
  }
}
