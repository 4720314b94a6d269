import type { ProducerRouting } from '../../protocol';
import type { Clock } from '../consumer/clock';
import type { CallOptions, RoutingQuery } from '../coordinator-client';
import type { RoutingCache } from './routing-cache';

/** Asks a coordinator for the routing of one group. */
export type RoutingSource = (query: RoutingQuery, options: Required<CallOptions>) => Promise<ProducerRouting>;

export interface RefresherSettings {
  readonly cache: RoutingCache;
  readonly source: RoutingSource;
  readonly clock: Clock;
  /** 0 up to 1, for jitter. */
  readonly random: () => number;
  /** Milliseconds that a refresh lets the coordinator wait for a change; 0: it answers at once. */
  readonly waitMs: number;
  readonly onOutcome: (failure: unknown) => void;
}

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;
const MAX_RETRY_DOUBLINGS = 10;
/** A refresh of its own is asked for by versions that a consumer sees; they move in bursts while a group rebalances. */
const SIGN_DELAY_MS = 50;
/** Refreshes are spread over the last tenth of their interval, so that publishers started together do not stay together. */
const JITTER_SHARE = 0.1;
const MAX_REQUEST_MS = 5_000;
const REQUEST_SHARE_OF_LEASE = 0.3;

/** A request under way. Its answer counts only while it is the current one. */
interface Round {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  /** A long poll: dropped when an answer is needed now. */
  readonly isWaiting: boolean;
}

/**
 * Keeps the cache fresh. Stopped; running: one request at a time, and between two of them one timer. `refresh` brings the next
 * one forward. The answer of a request that was given up is never looked at.
 */
export class RoutingRefresher {
  private running = false;
  private round: Round | null = null;
  private cancelTimer: () => void = () => undefined;
  private failures = 0;
  /** Rejected refreshes are not repeated before this. */
  private retryAtMs = 0;
  private lastFailure: unknown = null;
  /** When a version was last seen that asks for a refresh. */
  private hurriedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly settings: RefresherSettings) {}

  /** Resolves with the first routing in the cache. Rejects with what the coordinator or the way to it said; it is stopped then. */
  async start(): Promise<void> {
    this.running = true;
    try {
      await this.refresh();
    } catch (failure) {
      this.stop();
      throw failure;
    }
  }

  stop(): void {
    this.running = false;
    this.cancelTimer();
    this.round?.abort.abort();
    this.round = null;
  }

  /**
   * A refresh sent after this call; resolves when its answer is in the cache. While refreshes fail it is not sent more often
   * than their backoff allows, and rejects with the last failure.
   */
  async refresh(): Promise<void> {
    const earlier = this.answering();
    if (earlier !== null) {
      // Sent before the sign that brought us here: its answer may be older than that.
      await earlier.done.catch(() => undefined);
      const other = this.answering(); // another caller was faster
      if (other !== null) return other.done;
    }
    if (this.settings.clock.nowMs() < this.retryAtMs) throw this.lastFailure;
    return this.begin(0);
  }

  /** The next answer of any refresh: of the one under way, or of one that is sent now. */
  async nextAnswer(): Promise<void> {
    return this.answering()?.done ?? this.refresh();
  }

  /** Someone saw a higher version: a refresh soon, after the one under way if there is one. */
  hurry(): void {
    this.hurriedAtMs = this.settings.clock.nowMs();
    if (this.answering() === null) this.schedule(this.untilHurried());
  }

  /** The request under way, unless it is a long poll. */
  private answering(): Round | null {
    return this.round?.isWaiting === false ? this.round : null;
  }

  private begin(waitMs: number): Promise<void> {
    this.cancelTimer();
    this.round?.abort.abort();
    const abort = new AbortController();
    const round: Round = { abort, isWaiting: waitMs > 0, done: this.request(abort.signal, waitMs) };
    this.round = round;
    const settled = (): void => {
      if (this.round === round) this.round = null;
    };
    round.done.then(settled, settled);
    return round.done;
  }

  private async request(signal: AbortSignal, waitMs: number): Promise<void> {
    const { cache, clock, source, onOutcome } = this.settings;
    const sentAtMs = clock.nowMs();
    const timeoutMs = waitMs + Math.min(MAX_REQUEST_MS, cache.times.leaseMs * REQUEST_SHARE_OF_LEASE);
    const query = { ...cache.query(), ...(waitMs > 0 ? { waitMs } : {}) };
    try {
      const answer = await source(query, { signal, timeoutMs });
      if (signal.aborted) return;
      this.failures = 0;
      this.retryAtMs = 0;
      const acceptance = cache.accept(answer, sentAtMs);
      onOutcome(null);
      if (this.hurriedAtMs >= sentAtMs) this.schedule(this.untilHurried());
      else this.schedule(acceptance === 'REPLACED' && waitMs > 0 ? 0 : this.untilNext(sentAtMs, waitMs));
    } catch (failure) {
      if (signal.aborted) return;
      this.noteFailure(failure);
      onOutcome(failure);
      throw failure;
    }
  }

  private noteFailure(failure: unknown): void {
    const { clock, random } = this.settings;
    this.lastFailure = failure;
    const backoffMs = Math.min(
      FIRST_RETRY_MS * 2 ** Math.min(this.failures, MAX_RETRY_DOUBLINGS),
      MAX_RETRY_MS,
    );
    this.failures += 1;
    const delayMs = backoffMs * (0.5 + random() / 2);
    this.retryAtMs = clock.nowMs() + delayMs;
    this.schedule(delayMs);
  }

  private untilHurried(): number {
    return Math.max(SIGN_DELAY_MS, this.retryAtMs - this.settings.clock.nowMs());
  }

  /** A long poll follows the last one as soon as that is over; a coordinator that does not hold answers is not asked more often. */
  private untilNext(sentAtMs: number, waitMs: number): number {
    const { cache, clock, random } = this.settings;
    if (waitMs === 0 && this.settings.waitMs > 0) return 0;
    const intervalMs = waitMs > 0 ? waitMs : cache.times.refreshMs * (1 - JITTER_SHARE * random());
    return Math.max(0, sentAtMs + intervalMs - clock.nowMs());
  }

  private schedule(delayMs: number): void {
    this.cancelTimer();
    if (!this.running) return;
    this.cancelTimer = this.settings.clock.after(delayMs, () => {
      const waitMs = Math.min(this.settings.waitMs, this.settings.cache.times.refreshMs);
      // Its failure was reported, and the next try is scheduled.
      this.begin(this.failures > 0 ? 0 : waitMs).catch(() => undefined);
    });
  }
}
