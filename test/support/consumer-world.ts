import { Redis } from 'ioredis';
import type { MessageContext, StreamMessage } from '../../src/client/consumer/message';
import type { StreamConsumerOptions } from '../../src/client/consumer/consumer-options';
import { StreamConsumer } from '../../src/client/consumer/stream-consumer';
import { waitUntil } from './redis-server';
import type { RedisServer } from './redis-server';
import { ScriptedCoordinator } from './scripted-coordinator';
import type { ScriptedTiming } from './scripted-coordinator';

export const GROUP = 'g';
const WAIT_MS = 10_000;

export interface Handled {
  readonly id: string;
  readonly shard: number;
  readonly n: string;
  readonly deliveryCount: number;
  readonly memberId: string;
}

/**
 * Streams of one test with a scripted coordinator and the consumers that the test starts; `close` stops them all. Each world has
 * a stream prefix of its own, so that tests share a server.
 */
export class ConsumerWorld {
  private static count = 0;
  readonly streamPrefix: string;
  readonly coordinator: ScriptedCoordinator;
  readonly redis: Redis;
  readonly handled: Handled[] = [];
  readonly errors: Error[] = [];
  /** Names and memberships of events, in order: `assigned 0`, `leaseLost`. */
  readonly events: string[] = [];
  private readonly consumers: StreamConsumer[] = [];

  constructor(
    readonly server: RedisServer,
    timing?: ScriptedTiming,
  ) {
    ConsumerWorld.count += 1;
    this.streamPrefix = `s${ConsumerWorld.count}`;
    this.coordinator = new ScriptedCoordinator(timing);
    this.redis = new Redis(server.port, { maxRetriesPerRequest: 1, retryStrategy: () => 50 });
    this.redis.on('error', () => undefined);
  }

  key(shard: number): string {
    return `${this.streamPrefix}:${shard}`;
  }

  deadLetters(shard: number): string {
    return `{${this.key(shard)}}:dlq`;
  }

  async createShards(count: number): Promise<void> {
    for (let shard = 0; shard < count; shard += 1) await this.createShard(shard);
  }

  async createShard(shard: number): Promise<void> {
    await this.redis.xgroup('CREATE', this.key(shard), GROUP, '0', 'MKSTREAM');
  }

  /** Entries with field n, in order; their ids. */
  async add(shard: number, ...values: readonly (string | number)[]): Promise<string[]> {
    const ids: string[] = [];
    for (const n of values) ids.push((await this.redis.xadd(this.key(shard), '*', 'n', n)) ?? '');
    return ids;
  }

  /** Reads new entries under another consumer name, which acks none of them. */
  async deliverTo(consumer: string, shard: number, count: number): Promise<void> {
    await this.redis.xreadgroup('GROUP', GROUP, consumer, 'COUNT', count, 'STREAMS', this.key(shard), '>');
  }

  consumer(options: Partial<StreamConsumerOptions> = {}): StreamConsumer {
    const { handler, ...rest } = options;
    const consumer = new StreamConsumer({
      ...{ coordinator: this.coordinator, redis: this.server.url, streamPrefix: this.streamPrefix },
      ...{ consumerGroup: GROUP, memberId: 'a', retryBackoff: { firstMs: 5, maxMs: 20 } },
      handler: (message, context) => {
        this.note(message, context);
        return handler?.(message, context);
      },
      ...rest,
    });
    consumer.on('error', (error) => this.errors.push(error));
    consumer.on('assigned', ({ shard }) => this.events.push(`assigned ${shard}`));
    consumer.on('revoked', ({ shard, reason }) => this.events.push(`revoked ${shard} ${reason}`));
    consumer.on('leaseLost', () => this.events.push('leaseLost'));
    consumer.on('fenced', ({ status }) => this.events.push(`fenced ${status}`));
    consumer.on('groupMissing', () => this.events.push('groupMissing'));
    this.consumers.push(consumer);
    return consumer;
  }

  async start(options: Partial<StreamConsumerOptions> = {}): Promise<StreamConsumer> {
    const consumer = this.consumer(options);
    await consumer.start();
    return consumer;
  }

  private note(message: StreamMessage, context: MessageContext): void {
    const { shard, deliveryCount, memberId } = context;
    this.handled.push({ id: message.id, shard, n: message.fields['n'] ?? '', deliveryCount, memberId });
  }

  get values(): string[] {
    return this.handled.map(({ n }) => n);
  }

  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    await waitUntil(what, WAIT_MS, condition);
  }

  async pendingIds(shard: number): Promise<string[]> {
    const reply = (await this.redis.xpending(this.key(shard), GROUP, '-', '+', 1_000)) as [string][];
    return reply.map(([id]) => id);
  }

  async untilNothingPending(shard: number): Promise<void> {
    await this.until(`nothing pending in ${shard}`, async () => (await this.pendingIds(shard)).length === 0);
  }

  async consumerNames(shard: number): Promise<string[]> {
    const reply = (await this.redis.xinfo('CONSUMERS', this.key(shard), GROUP)) as unknown[][];
    return reply.map((properties) => String(properties[1]));
  }

  /** Connections of consumers of this server that are blocked in a read. */
  async blockedReads(): Promise<number> {
    const info = await this.redis.info('clients');
    return Number(/blocked_clients:(\d+)/.exec(info)?.[1]);
  }

  async untilBlocked(): Promise<void> {
    await this.until('a read is blocked', async () => (await this.blockedReads()) > 0);
  }

  async deadLetterFields(shard: number): Promise<Record<string, string>[]> {
    const letters = await this.redis.xrange(this.deadLetters(shard), '-', '+');
    return letters.map(([, fields]) => {
      const pairs: [string, string][] = [];
      for (let i = 0; i + 1 < fields.length; i += 2) pairs.push([fields[i]!, fields[i + 1]!]);
      return Object.fromEntries(pairs);
    });
  }

  async close(): Promise<void> {
    this.coordinator.asUsual();
    await Promise.all(this.consumers.map(async (consumer) => consumer.stop()));
    await this.redis.quit().catch(() => undefined); // a connection that is still being made outlives a disconnect
    this.redis.disconnect();
  }
}
