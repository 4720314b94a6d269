import { shardIndexOf } from '../../domain/routing/partitioner';
import { streamKey as spellStreamKey } from '../../domain/routing/shard-keys';
import type { StreamPrefix } from '../../domain/ids';
import type { ProducerRouting } from '../../protocol';
import type { Clock } from '../consumer/clock';
import type { Delivery } from './delivery';
import {
  NoShardsError,
  PublishRejectedError,
  RoutingLeaseExpiredError,
  StreamMissingError,
} from './publish-errors';
import type { RoutingCache } from './routing-cache';
import type { RoutingRefresher } from './routing-refresher';
import type { AppendOutcome, StreamAppender } from './stream-appender';

export interface DelivererSettings {
  readonly streamPrefix: StreamPrefix;
  readonly trimToApproximately: number | null;
  readonly clock: Clock;
  readonly cache: RoutingCache;
  readonly refresher: RoutingRefresher;
  readonly appender: StreamAppender;
}

/** Of one entry: the first sending and one more after an unknown outcome. */
const MAX_SENDINGS = 2;
const NOT_SENT_PAUSE_MS = 10;
const REDIRECTS = new Set(['MOVED', 'ASK']);

/**
 * Carries one delivery to its end: waits for a routing and a connection, sends, and decides what an outcome means. What has to
 * end it throws; while it returns, the delivery is sent again if it still has time.
 */
export class Deliverer {
  constructor(private readonly settings: DelivererSettings) {}

  /** `onEnd` is called when the delivery is over and nothing of it waits anywhere any more. */
  deliver(delivery: Delivery, onEnd: () => void): void {
    if (delivery.isOver()) {
      onEnd();
      return;
    }
    const sent = this.sendAtOnce(delivery);
    if (sent === null) {
      this.pursue(delivery, null).then(onEnd, onEnd);
      return;
    }
    // The common way is short: nothing between the answer of Redis and that of the publisher.
    const answered = sent.then((outcome) => {
      if (outcome.kind !== 'APPENDED') return this.pursue(delivery, outcome).then(onEnd);
      delivery.succeed(outcome.id);
      onEnd();
      return undefined;
    });
    answered.catch((error: unknown) => delivery.fail(error));
  }

  /** Null when there is something to wait for first. */
  private sendAtOnce(delivery: Delivery): Promise<AppendOutcome> | null {
    const routing = this.usableRouting();
    return routing !== null && routing.shardCount > 0 && this.settings.appender.isReady
      ? this.append(delivery, routing)
      : null;
  }

  /** Carries on after an outcome, or from the beginning. Never rejects. */
  private async pursue(delivery: Delivery, outcome: AppendOutcome | null): Promise<void> {
    const { appender, streamPrefix } = this.settings;
    try {
      if (outcome !== null) await this.conclude(delivery, outcome);
      while (!delivery.isOver()) {
        const routing = this.usableRouting() ?? (await this.renewRouting(delivery));
        if (delivery.isOver()) return; // while it waited for the routing
        if (routing.shardCount === 0) throw new NoShardsError(streamPrefix);
        if (appender.isReady) await this.conclude(delivery, await this.append(delivery, routing));
        else await delivery.until('a connection to Redis', (wake) => appender.onceReady(wake));
      }
    } catch (error) {
      delivery.fail(error);
    }
  }

  private usableRouting(): ProducerRouting | null {
    return this.settings.cache.usableAt(this.settings.clock.nowMs());
  }

  private async renewRouting(delivery: Delivery): Promise<ProducerRouting> {
    delivery.waitingFor = 'a routing from the coordinator';
    const { streamPrefix } = this.settings;
    try {
      await this.settings.refresher.nextAnswer();
    } catch (cause) {
      throw new RoutingLeaseExpiredError(streamPrefix, { cause });
    }
    const routing = this.usableRouting();
    if (routing === null) throw new RoutingLeaseExpiredError(streamPrefix);
    return routing;
  }

  private append(delivery: Delivery, routing: ProducerRouting): Promise<AppendOutcome> {
    const { appender, streamPrefix, trimToApproximately } = this.settings;
    const shardIndex = shardIndexOf(delivery.key, routing.shardCount);
    const streamKey = routing.shards[shardIndex]?.streamKey ?? spellStreamKey(streamPrefix, shardIndex);
    delivery.shardIndex = shardIndex;
    delivery.streamKey = streamKey;
    delivery.unanswered += 1;
    return appender.append(streamKey, delivery.fields, trimToApproximately);
  }

  /** Throws when the delivery has to end; else it is over, or sent again if it still has time. */
  private async conclude(delivery: Delivery, outcome: AppendOutcome): Promise<void> {
    if (outcome.kind === 'UNCERTAIN') {
      if (delivery.unanswered >= MAX_SENDINGS) throw outcome.cause;
      return;
    }
    if (outcome.kind === 'APPENDED') {
      delivery.succeed(outcome.id);
      return;
    }
    delivery.unanswered -= 1; // nothing was written
    const { clock, refresher } = this.settings;
    switch (outcome.kind) {
      case 'NOT_SENT':
        return delivery.until('a connection to Redis', (wake) => clock.after(NOT_SENT_PAUSE_MS, wake));
      case 'MISSING':
        if (delivery.wasMissing) throw new StreamMissingError(delivery.streamKey);
        delivery.wasMissing = true;
        return this.refreshRoute(delivery.streamKey);
      case 'REJECTED': {
        const { redisCode, retryable, cause } = outcome;
        if (REDIRECTS.has(redisCode)) refresher.hurry();
        throw new PublishRejectedError(delivery.streamKey, redisCode, retryable, { cause });
      }
    }
  }

  private async refreshRoute(missingStreamKey: string): Promise<void> {
    try {
      await this.settings.refresher.refresh();
    } catch (cause) {
      throw new StreamMissingError(missingStreamKey, { cause });
    }
  }
}
