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

  /** Never rejects: the delivery is over when it resolves. */
  async deliver(delivery: Delivery): Promise<void> {
    const { appender } = this.settings;
    try {
      while (!delivery.isOver) {
        const routing = this.usableRouting() ?? (await this.renewRouting(delivery));
        if (appender.isReady) await this.send(delivery, routing);
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

  private async send(delivery: Delivery, routing: ProducerRouting): Promise<void> {
    if (delivery.isOver) return; // while it waited for the routing
    if (routing.shardCount === 0) throw new NoShardsError(this.settings.streamPrefix);
    const shardIndex = shardIndexOf(delivery.key, routing.shardCount);
    const streamKey =
      routing.shards[shardIndex]?.streamKey ?? spellStreamKey(this.settings.streamPrefix, shardIndex);
    delivery.streamKey = streamKey;
    delivery.unanswered += 1;
    const outcome = await this.settings.appender.append(
      streamKey,
      delivery.fields,
      this.settings.trimToApproximately,
    );
    if (outcome.kind === 'APPENDED') delivery.succeed(shardIndex, outcome.id);
    else await this.handleFailure(delivery, outcome);
  }

  /** Throws when the delivery has to end; else it is sent again if it still has time. */
  private async handleFailure(
    delivery: Delivery,
    outcome: Exclude<AppendOutcome, { kind: 'APPENDED' }>,
  ): Promise<void> {
    if (outcome.kind === 'UNCERTAIN') {
      if (delivery.unanswered >= MAX_SENDINGS) throw outcome.cause;
      return;
    }
    delivery.unanswered -= 1; // nothing was written
    switch (outcome.kind) {
      case 'NOT_SENT':
        return delivery.until('a connection to Redis', (wake) =>
          this.settings.clock.after(NOT_SENT_PAUSE_MS, wake),
        );
      case 'MISSING':
        if (delivery.wasMissing) throw new StreamMissingError(delivery.streamKey);
        delivery.wasMissing = true;
        return this.refreshRoute(delivery.streamKey);
      case 'REJECTED': {
        const { redisCode, retryable, cause } = outcome;
        if (REDIRECTS.has(redisCode)) this.settings.refresher.hurry();
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
