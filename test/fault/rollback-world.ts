import { StreamPublisher } from '../../src/client';
import type { ConsumerLine, ConsumerProcess } from '../support/consumer-process';
import { groupViewFrom, isBalanced } from '../support/coordinator-readings';
import { type RedisServer, type RedisServerOptions, waitUntil } from '../support/redis-server';
import { type ConsumerStage, ConsumerWorld, PATIENCE_MS } from './consumer-world';
import { PublisherTraffic } from './publisher-traffic';

/** The lease outlasts a restart of Redis on a busy machine; a lock is not lost by a command that is slow. */
export const ROLLBACK_TIMING = {
  leaseTtlMs: 6_000,
  heartbeatIntervalMs: 500,
  rebalanceTimeoutMs: 12_000,
} as const;

const ENVIRONMENT = {
  COORD_MEMBER_LEASE_TTL_MS: String(ROLLBACK_TIMING.leaseTtlMs),
  COORD_HEARTBEAT_INTERVAL_MS: String(ROLLBACK_TIMING.heartbeatIntervalMs),
  COORD_REBALANCE_TIMEOUT_MS: String(ROLLBACK_TIMING.rebalanceTimeoutMs),
  COORD_LOCK_TTL_MS: '3000',
};

export async function runIdOf(redis: RedisServer): Promise<string> {
  const info = String(await redis.cli('INFO', 'server'));
  return /run_id:(\w+)/.exec(info)?.[1] ?? '';
}

/** A coordinator, consumers and a publisher at work on one stream whose Redis is about to lose something. */
export class RollbackWorld {
  readonly consumers: ConsumerProcess[] = [];
  private constructor(
    private readonly world: ConsumerWorld,
    readonly stage: ConsumerStage,
    private readonly publisher: StreamPublisher,
    readonly traffic: PublisherTraffic,
  ) {}

  static async start(redisOptions: RedisServerOptions, shardCount: number): Promise<RollbackWorld> {
    const world = await ConsumerWorld.start(redisOptions, ENVIRONMENT);
    try {
      const stage = await world.stage('rolled', shardCount);
      const publisher = new StreamPublisher({
        coordinatorUrl: stage.coordinatorUrl,
        redis: world.redis.url,
        streamPrefix: stage.streamPrefix,
        consumerGroup: stage.group,
        onError: () => undefined,
      });
      return new RollbackWorld(world, stage, publisher, new PublisherTraffic(publisher));
    } catch (failure) {
      await world.stop();
      throw failure;
    }
  }

  get redis(): RedisServer {
    return this.world.redis;
  }

  get coordinator(): ConsumerWorld['coordinator'] {
    return this.world.coordinator;
  }

  get key(): { readonly streamPrefix: string; readonly consumerGroup: string } {
    return { streamPrefix: this.stage.streamPrefix, consumerGroup: this.stage.group };
  }

  async join(memberId: string): Promise<ConsumerProcess> {
    const consumer = await this.stage.joined(memberId);
    this.consumers.push(consumer);
    return consumer;
  }

  /** The lines of all consumers. */
  get lines(): readonly ConsumerLine[] {
    return this.consumers.flatMap((consumer) => consumer.lines());
  }

  get shards(): readonly number[] {
    return [...new Set(this.lines.flatMap(({ shard }) => shard ?? []))].sort((a, b) => a - b);
  }

  /** All shards are held, in equal shares, and the consumers know. */
  async untilBalanced(): Promise<void> {
    const { length } = this.consumers;
    await waitUntil(`balanced over ${length} members`, PATIENCE_MS, async () => {
      return isBalanced(await groupViewFrom(this.coordinator, this.key), length);
    });
  }

  /** Kills Redis and starts it from its files. When it was killed and when it served again, on the wall clock. */
  async restartRedis(): Promise<{ readonly killedMs: number; readonly servedMs: number }> {
    const killedMs = Date.now();
    await this.redis.restart({ kill: true });
    return { killedMs, servedMs: Date.now() };
  }

  /** Waits for the beginning and the end of the first round that each of them was told of since. */
  async untilCorrected(consumers: readonly ConsumerProcess[], sinceMs: number): Promise<readonly Round[]> {
    const rounds: Round[] = [];
    for (const consumer of consumers) {
      const news = (state: string): ConsumerLine | undefined =>
        consumer.lines('correction').find((line) => line.state === state && line.atMs >= sinceMs);
      await consumer.until('is through the round', () => news('ENDED') !== undefined, PATIENCE_MS);
      rounds.push({ startedMs: news('STARTED')?.atMs ?? Infinity, endedMs: news('ENDED')!.atMs });
    }
    return rounds;
  }

  /** Stops publishing; waits until all that was published since then is handled, and nothing is pending. */
  async untilAllHandledSince(ms: number): Promise<void> {
    await this.traffic.stop();
    const expected = this.traffic.publishedSince(ms).map(({ n }) => n);
    const missing = (): readonly number[] => {
      const handled = new Set(this.lines.flatMap(({ what, n }) => (what === 'handled' ? (n ?? []) : [])));
      return expected.filter((n) => !handled.has(n));
    };
    await waitUntil('all is handled', PATIENCE_MS, () => missing().length === 0).catch((late: unknown) => {
      throw new Error(`${String(late)}; missing: ${JSON.stringify(missing().slice(0, 20))}`);
    });
    await this.stage.untilNothingPends(this.shards);
  }

  async stop(): Promise<void> {
    await this.traffic.stop();
    await this.publisher.close();
    await this.world.stop();
  }
}

/** As one consumer saw it, on the wall clock. */
export interface Round {
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Tenures that ended, but not by leaving. */
export function tenuresLost(consumer: ConsumerProcess): readonly ConsumerLine[] {
  return consumer.lines().filter(({ what }) => what === 'fenced' || what === 'leaseLost');
}
