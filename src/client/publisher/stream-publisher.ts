import { setImmediate as endOfTurn } from 'node:timers/promises';
import { streamKey } from '../../domain/routing/shard-keys';
import { DEFAULT_TIMING } from '../../protocol';
import { type Clock, systemClock } from '../consumer/clock';
import { CoordinatorClient } from '../coordinator-client';
import { ClientClosedError, CoordinatorRequestError, GroupNotFoundError } from '../errors';
import { RedisStreamAppender } from '../redis/redis-stream-appender';
import { VersionKeeper } from '../versions/version-keeper';
import { Deadlines } from './deadlines';
import { Deliverer } from './deliverer';
import { Delivery, type PublishedEntry } from './delivery';
import { type EntryContent, entryFields } from './entry-fields';
import { PublishWindow } from './publish-window';
import { PublisherStats, reportTo } from './publisher-metrics';
import {
  type CheckedOptions,
  checkOptions,
  type PublisherPorts,
  type RoutingPort,
  type StreamPublisherOptions,
} from './publisher-options';
import { RoutingCache } from './routing-cache';
import { RoutingRefresher } from './routing-refresher';
import type { StreamAppender } from './stream-appender';

export interface PublishOptions {
  /** Aborted before the entry is sent: rejects with the signal's reason. After: with PublishUncertainError. */
  readonly signal?: AbortSignal;
  /** Milliseconds, instead of `publishTimeoutMs`. */
  readonly timeoutMs?: number;
}

export interface BatchItem {
  readonly key: string;
  readonly content: EntryContent;
}

export type BatchOutcome =
  | { readonly ok: true; readonly entry: PublishedEntry }
  | { readonly ok: false; readonly error: unknown };

/** A publish after a failed start is not the one that tries again before this. */
const START_PAUSE_MS = 100;

/**
 * Publishes entries of one stream, each to the shard of its key. States: new; started (by `start`, or by the first publish);
 * closed. A publish needs a routing whose lease holds and a connection to Redis, waits for them up to its deadline, and always
 * settles. Publishes of one key that are under way together are written in order as long as none has to be sent again: who
 * needs more awaits each.
 */
export class StreamPublisher {
  private readonly options: CheckedOptions;
  private readonly clock: Clock;
  private readonly versions: VersionKeeper;
  private readonly cache: RoutingCache;
  private readonly refresher: RoutingRefresher;
  private readonly appender: StreamAppender;
  private readonly window: PublishWindow;
  private readonly deadlines: Deadlines;
  private readonly deliverer: Deliverer;
  private readonly stats: PublisherStats;
  private readonly unsubscribe: () => void;
  private readonly ownClient: CoordinatorClient | null;
  private starting: Promise<void> | null = null;
  private isStarted = false;
  private closing: Promise<void> | null = null;
  private startFailure: { readonly error: unknown; readonly untilMs: number } | null = null;

  /** Opens nothing. Throws InvalidOptionsError. */
  constructor(options: StreamPublisherOptions, ports: PublisherPorts = {}) {
    this.options = checkOptions(options);
    const { streamPrefix, consumerGroup, publishTimeoutMs, stallTimeoutMs } = this.options;
    const { metricsRegistry, redis, coordinatorUrl = '', onError = () => undefined } = options;
    const { clock = systemClock, random = Math.random } = ports;
    this.clock = clock;
    this.ownClient = options.coordinator === undefined ? new CoordinatorClient({ coordinatorUrl }) : null;
    const coordinator = options.coordinator ?? (this.ownClient as RoutingPort);
    this.versions = new VersionKeeper({
      ...{ streamPrefix, consumerGroup, clock, store: options.versionStore ?? null },
      onFault: (error) => {
        this.stats.countVersionStoreFault(error.operation);
        onError(error);
      },
    });
    const { routingLeaseMs, routingRefreshMs } = DEFAULT_TIMING;
    const times = { leaseMs: routingLeaseMs, refreshMs: routingRefreshMs };
    this.cache = new RoutingCache(times, this.versions.seen);
    this.window = new PublishWindow(this.options.maxInFlight);
    this.deadlines = new Deadlines(clock, publishTimeoutMs);
    this.stats = new PublisherStats(streamPrefix, consumerGroup, {
      routingAgeMs: () => this.cache.ageMs(clock.nowMs()),
      routingLeaseRemainingMs: () => this.cache.leaseRemainingMs(clock.nowMs()),
      routingRegressions: () => this.cache.regressions,
      inFlight: () => this.window.inFlight,
    });
    this.refresher = new RoutingRefresher({
      cache: this.cache,
      source: (query, callOptions) =>
        coordinator.producerRouting(streamPrefix, consumerGroup, query, callOptions),
      clock,
      random,
      waitMs: this.options.routingWaitMs,
      onOutcome: (failure) => {
        if (failure === null) return;
        this.stats.refreshFailures += 1;
        onError(failure);
      },
    });
    this.appender =
      ports.appender ??
      new RedisStreamAppender({ redis, clock, stallMs: stallTimeoutMs, onTrouble: onError });
    const { cache, refresher, appender } = this;
    this.deliverer = new Deliverer({ ...this.options, clock, cache, refresher, appender });
    const stopReporting = metricsRegistry === undefined ? null : reportTo(metricsRegistry, this.stats);
    const note = (version: number): void => this.noteVersion(version);
    const stopNoting = coordinator.onVersion?.(streamPrefix, consumerGroup, note);
    this.unsubscribe = () => {
      stopReporting?.();
      stopNoting?.();
    };
  }

  /**
   * Gets the routing and connects. Rejects when either fails (GroupNotFoundError, CoordinatorUnreachableError,
   * UnsupportedRedisError, RedisUnavailableError, ...); it may then be called again. Harmless when started.
   */
  async start(): Promise<void> {
    this.assertOpen();
    this.starting ??= this.open();
    return this.starting;
  }

  /** A metadataVersion that a consumer of this process was told: when it is higher, the routing is refreshed soon. */
  noteVersion(metadataVersion: number): void {
    if (this.cache.note(metadataVersion) && this.isStarted) this.refresher.hurry();
  }

  /**
   * Appends an entry to the shard of `key`. Rejects with one of the errors in publish-errors.ts, each of which says whether
   * something may have been written and whether trying again can help.
   */
  async publish(key: string, content: EntryContent, options: PublishOptions = {}): Promise<PublishedEntry> {
    try {
      this.assertOpen();
      options.signal?.throwIfAborted();
      const fields = entryFields(content);
      const timeoutMs = options.timeoutMs ?? this.options.publishTimeoutMs;
      this.window.enter();
      const delivery = new Delivery(key, fields, timeoutMs);
      this.begin(delivery, options.signal);
      const entry = await delivery.result;
      this.stats.countPublished();
      return entry;
    } catch (error) {
      this.stats.countFailure(error);
      // By the end of the turn it has left its place, unless it waits at Redis: who tries again now finds one.
      await endOfTurn();
      throw error;
    }
  }

  /**
   * Publishes all items, as many at once as `maxInFlight` has places. Resolves with the outcome of each, in their order; it
   * never rejects. `timeoutMs` counts for each entry from when it has a place.
   */
  async publishBatch(items: readonly BatchItem[], options: PublishOptions = {}): Promise<BatchOutcome[]> {
    const outcomes: Promise<BatchOutcome>[] = [];
    for (const { key, content } of items) {
      const refusal = await this.window.whenFree();
      outcomes.push(
        refusal === null
          ? outcomeOf(this.publish(key, content, options))
          : Promise.resolve({ ok: false, error: refusal }),
      );
    }
    return Promise.all(outcomes);
  }

  /** Takes no more publishes, lets those under way end (at most for the publish and the stall timeout), and closes. */
  async close(): Promise<void> {
    this.closing ??= this.endAll();
    return this.closing;
  }

  private async endAll(): Promise<void> {
    const { publishTimeoutMs, stallTimeoutMs } = this.options;
    const deadline = { cancel: (): void => undefined };
    const timeUp = new Promise<void>((resolve) => {
      deadline.cancel = this.clock.after(publishTimeoutMs + stallTimeoutMs, resolve);
    });
    await Promise.race([this.window.whenEmpty(), timeUp]);
    deadline.cancel();
    this.refresher.stop();
    this.appender.close();
    this.deadlines.close(this.closedError());
    this.unsubscribe();
    await this.versions.close();
    await this.ownClient?.close();
  }

  private assertOpen(): void {
    if (this.closing !== null) throw this.closedError();
  }

  private closedError(): ClientClosedError {
    return new ClientClosedError(`StreamPublisher of ${this.options.streamPrefix}`);
  }

  private async open(): Promise<void> {
    const { streamPrefix, consumerGroup } = this.options;
    try {
      await this.versions.load();
      await this.refresher.start();
      await this.appender.open(streamKey(streamPrefix, 0));
      if (this.closing !== null) {
        this.appender.close();
        throw this.closedError();
      }
      this.isStarted = true;
      this.startFailure = null;
    } catch (cause) {
      this.refresher.stop();
      this.starting = null;
      const isUnknown = cause instanceof CoordinatorRequestError && cause.errorCode === 'GROUP_NOT_FOUND';
      const error = isUnknown ? new GroupNotFoundError(streamPrefix, consumerGroup, { cause }) : cause;
      this.startFailure = { error, untilMs: this.clock.nowMs() + START_PAUSE_MS };
      throw error;
    }
  }

  /** Puts a delivery on its way, under its deadline and signal. */
  private begin(delivery: Delivery, signal: AbortSignal | undefined): void {
    this.deadlines.add(delivery);
    if (signal === undefined) {
      delivery.onOver = () => this.deadlines.remove(delivery);
    } else {
      const onAbort = (): void => delivery.fail(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      delivery.onOver = () => {
        this.deadlines.remove(delivery);
        signal.removeEventListener('abort', onAbort);
      };
    }
    if (this.isStarted) {
      this.deliverer.deliver(delivery, this.leave);
      return;
    }
    this.startForPublish().then(
      () => this.deliverer.deliver(delivery, this.leave),
      (error: unknown) => {
        delivery.fail(error);
        this.leave();
      },
    );
  }

  /** The place stays taken until nothing of the entry waits anywhere, which may be after its deadline. */
  private readonly leave = (): void => this.window.leave();

  private async startForPublish(): Promise<void> {
    const { startFailure } = this;
    if (startFailure !== null && this.starting === null && this.clock.nowMs() < startFailure.untilMs) {
      throw startFailure.error;
    }
    this.starting ??= this.open();
    await this.starting;
  }
}

async function outcomeOf(publish: Promise<PublishedEntry>): Promise<BatchOutcome> {
  try {
    return { ok: true, entry: await publish };
  } catch (error) {
    return { ok: false, error };
  }
}
