import { runClientScript } from './client-scripts';
import type { RedisLink } from './redis-link';

/** An entry as Redis answers it: id, then field names and values in turn. */
export type RawEntry = readonly [id: string, fields: readonly string[] | null];
export type RawReadReply = readonly (readonly [streamKey: string, entries: readonly RawEntry[]])[] | null;

export interface PendingEntry {
  readonly id: string;
  readonly consumer: string;
  /** How often it was delivered so far. */
  readonly deliveries: number;
}

export interface DeadLetter {
  readonly streamKey: string;
  readonly deadLetterKey: string;
  readonly consumer: string;
  readonly id: string;
  readonly reason: string;
  readonly error: string;
  readonly deliveries: number;
}

/** What `moveToDeadLetter` found. GONE: not pending any more. DELETED: its body was deleted, it is acked. FOREIGN: another consumer's. */
export type DeadLetterResult = 'MOVED' | 'GONE' | 'DELETED' | 'FOREIGN';
const DEAD_LETTER_RESULTS: ReadonlyMap<unknown, DeadLetterResult> = new Map([
  [1, 'MOVED'],
  [0, 'GONE'],
  [2, 'DELETED'],
  [-1, 'FOREIGN'],
]);

/**
 * The commands on one Redis consumer group that do not block. Each is one round trip, and rejects with what Redis or the
 * connection says. None of them knows of leases: whoever calls has checked his.
 */
export class GroupCommands {
  constructor(
    private readonly link: RedisLink,
    private readonly group: string,
  ) {}

  /** Runs `work` at once; the commands that it sends leave in one write when it returns. */
  together(work: () => void): void {
    this.link.gatherWrites(work);
  }

  /** Number of ids that were pending. Harmless to repeat. */
  async ack(streamKey: string, ids: readonly string[]): Promise<number> {
    return this.link.client.xack(streamKey, this.group, ...ids);
  }

  /** Pending entries of all consumers in id order, after `afterId` (exclusive; null: from the first). */
  async pendingPage(streamKey: string, afterId: string | null, count: number): Promise<PendingEntry[]> {
    const start = afterId === null ? '-' : `(${afterId}`;
    const reply = (await this.link.client.xpending(streamKey, this.group, start, '+', count)) as [
      string,
      string,
      number,
      number,
    ][];
    return reply.map(([id, consumer, , deliveries]) => ({ id, consumer, deliveries }));
  }

  /** Number of pending entries by consumer. */
  async pendingByConsumer(streamKey: string): Promise<ReadonlyMap<string, number>> {
    const reply = await this.link.client.xpending(streamKey, this.group);
    const consumers = (reply[3] ?? []) as [string, string][];
    return new Map(consumers.map(([consumer, count]) => [consumer, Number(count)]));
  }

  /** Takes one pending entry over, counts a delivery, returns its fields; null when it is deleted or not pending any more. */
  async claim(streamKey: string, consumer: string, id: string): Promise<readonly string[] | null> {
    const reply = (await this.link.client.xclaim(
      streamKey,
      this.group,
      consumer,
      0,
      id,
    )) as (RawEntry | null)[];
    return reply[0]?.[1] ?? null;
  }

  /** Takes entries over and sets how often they count as delivered, without reading them. */
  async setDeliveries(
    streamKey: string,
    consumer: string,
    ids: readonly string[],
    deliveries: number,
  ): Promise<void> {
    await this.link.client.call(
      ...(['XCLAIM', streamKey, this.group, consumer, 0, ...ids, 'RETRYCOUNT', deliveries, 'JUSTID'] as [
        string,
        ...(string | number)[],
      ]),
    );
  }

  async exists(streamKey: string, id: string): Promise<boolean> {
    return (await this.link.client.xrange(streamKey, id, id)).length > 0;
  }

  /** Names of the consumers under which nothing is pending. */
  async idleConsumers(streamKey: string): Promise<string[]> {
    const reply = (await this.link.client.xinfo('CONSUMERS', streamKey, this.group)) as unknown[][];
    const names: string[] = [];
    for (const properties of reply) {
      if (propertyOf(properties, 'pending') === 0) names.push(String(propertyOf(properties, 'name')));
    }
    return names;
  }

  /** Removes a consumer name unless something is pending under it (XGROUP DELCONSUMER alone would drop that). */
  async removeConsumer(streamKey: string, consumer: string): Promise<void> {
    await runClientScript(this.link.client, 'remove-consumer', [streamKey], [this.group, consumer]);
  }

  async moveToDeadLetter(letter: DeadLetter): Promise<DeadLetterResult> {
    const reply = await runClientScript(
      this.link.client,
      'move-to-dead-letter',
      [letter.streamKey, letter.deadLetterKey],
      [this.group, letter.consumer, letter.id, letter.reason, letter.error, letter.deliveries],
    );
    const result = DEAD_LETTER_RESULTS.get(reply);
    if (result === undefined) throw new Error(`move-to-dead-letter answered ${String(reply)}`);
    return result;
  }

  /** Ends the blocking command of another connection as if its time were over; false when it was not blocked. */
  async unblock(clientId: number): Promise<boolean> {
    return (await this.link.client.client('UNBLOCK', clientId)) === 1;
  }
}

function propertyOf(properties: readonly unknown[], name: string): unknown {
  return properties[properties.indexOf(name) + 1];
}
