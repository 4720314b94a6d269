import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ConsumerProcess, type EntryKind } from '../support/consumer-process';
import { type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
  waitUntil,
} from '../support/redis-server';

export const CONSUMER_TIMING = {
  leaseTtlMs: 2_000,
  heartbeatIntervalMs: 400,
  rebalanceTimeoutMs: 4_000,
} as const;

/** Where the promise is not about time. */
export const PATIENCE_MS = 30_000;
const GROUP = 'workers';

export interface PublishedEntry {
  readonly n: number;
  readonly kind?: EntryKind;
  /** For the kinds that look for one. */
  readonly file?: string;
}

/** Entries numbered `from` to below `to`, without anything special. */
export function plainEntries(from: number, to: number): PublishedEntry[] {
  return Array.from({ length: to - from }, (_, index) => ({ n: from + index }));
}

export function range(from: number, to: number): number[] {
  return plainEntries(from, to).map(({ n }) => n);
}

/** A Redis and a coordinator, in processes of their own, for the tests of one file. */
export class ConsumerWorld {
  private readonly folder = mkdtempSync(join(tmpdir(), 'consumer-fault-'));
  private stages: ConsumerStage[] = [];

  private constructor(
    readonly redis: RedisServer,
    public coordinator: CoordinatorProcess,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async start(
    redisOptions: RedisServerOptions = {},
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ConsumerWorld> {
    const redis = await startRedisServer(redisOptions);
    const timing = {
      COORD_MEMBER_LEASE_TTL_MS: String(CONSUMER_TIMING.leaseTtlMs),
      COORD_HEARTBEAT_INTERVAL_MS: String(CONSUMER_TIMING.heartbeatIntervalMs),
      COORD_REBALANCE_TIMEOUT_MS: String(CONSUMER_TIMING.rebalanceTimeoutMs),
      ...environment,
    };
    try {
      const coordinator = await startCoordinatorProcess(redis.url, timing);
      await coordinator.waitForReadiness(200);
      return new ConsumerWorld(redis, coordinator, timing);
    } catch (failure) {
      await redis.stop();
      throw failure;
    }
  }

  /** A stream with a group of its own. */
  async stage(streamPrefix: string, shardCount: number): Promise<ConsumerStage> {
    await this.coordinator.createGroup({ streamPrefix, consumerGroup: GROUP }, shardCount);
    const stage = new ConsumerStage(this, streamPrefix, join(this.folder, streamPrefix));
    this.stages.push(stage);
    return stage;
  }

  /** Another coordinator process on the same Redis; the world ends it. */
  async replaceCoordinator(): Promise<void> {
    await this.coordinator.stop();
    this.coordinator = await startCoordinatorProcess(this.redis.url, this.environment);
    await this.coordinator.waitForReadiness(200);
  }

  /** After each test. */
  async clear(): Promise<void> {
    const consumers = this.stages.flatMap((stage) => stage.consumers);
    this.stages = [];
    await Promise.all(consumers.map((consumer) => consumer.kill()));
  }

  async stop(): Promise<void> {
    await this.clear();
    await this.coordinator.stop();
    await this.redis.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** One stream with its group, its consumer processes, and what lies in Redis of it. */
export class ConsumerStage {
  readonly group = GROUP;
  readonly consumers: ConsumerProcess[] = [];
  /** Where consumers look for the coordinator. */
  coordinatorUrl: string;
  private files = 0;

  constructor(
    private readonly world: ConsumerWorld,
    readonly streamPrefix: string,
    private readonly filePrefix: string,
  ) {
    this.coordinatorUrl = world.coordinator.baseUrl;
  }

  /** Starts a consumer. Its connections to Redis carry `memberId` as their name. */
  consumer(
    memberId: string,
    options: Readonly<Record<string, unknown>> = {},
    supervision: { readonly supervised?: boolean } = {},
  ): ConsumerProcess {
    const redis = { host: '127.0.0.1', port: this.world.redis.port, connectionName: memberId };
    const { coordinatorUrl, streamPrefix, group: consumerGroup } = this;
    const all = { memberId, coordinatorUrl, redis, streamPrefix, consumerGroup, ...options };
    const consumer = new ConsumerProcess(all, `${this.filePrefix}-${memberId}.log`, supervision);
    this.consumers.push(consumer);
    return consumer;
  }

  async joined(memberId: string, options: Readonly<Record<string, unknown>> = {}): Promise<ConsumerProcess> {
    const consumer = this.consumer(memberId, options);
    await consumer.untilJoined();
    return consumer;
  }

  /** A file that does not exist, for the kinds of entries that wait for one. */
  newFile(): string {
    this.files += 1;
    return `${this.filePrefix}-file-${this.files}`;
  }

  createFile(file: string): void {
    writeFileSync(file, '');
  }

  streamKey(shard: number): string {
    return `${this.streamPrefix}:${shard}`;
  }

  /** Ids, in order. */
  async publish(shard: number, entries: readonly PublishedEntry[]): Promise<string[]> {
    const client = new Redis({ host: '127.0.0.1', port: this.world.redis.port });
    try {
      const batch = client.pipeline();
      for (const { n, kind = 'plain', file = '' } of entries) {
        batch.xadd(this.streamKey(shard), 'NOMKSTREAM', '*', 'n', n, 'kind', kind, 'file', file);
      }
      const replies = (await batch.exec()) ?? [];
      return replies.map(([error, id]) => {
        if (error !== null || typeof id !== 'string') throw new Error('not published', { cause: error });
        return id;
      });
    } finally {
      client.disconnect();
    }
  }

  /** Pending entries by consumer name; names without any are left out. */
  async pending(shard: number): Promise<ReadonlyMap<string, number>> {
    const command = ['XPENDING', this.streamKey(shard), this.group] as const;
    const [, , , consumers] = (await this.world.redis.cli(...command)) as [
      ...[unknown, unknown, unknown],
      [string, string][] | null,
    ];
    return new Map((consumers ?? []).map(([name, count]) => [name, Number(count)]));
  }

  async untilNothingPends(shards: readonly number[]): Promise<void> {
    for (const shard of shards) {
      await waitUntil(
        `nothing is pending in shard ${shard}`,
        PATIENCE_MS,
        async () => (await this.pending(shard)).size === 0,
      );
    }
  }

  /** The dead letters of a shard, by field name. */
  async deadLetters(shard: number): Promise<readonly Readonly<Record<string, string>>[]> {
    const key = `{${this.streamKey(shard)}}:dlq`;
    const entries = (await this.world.redis.cli('XRANGE', key, '-', '+')) as [string, string[]][];
    return entries.map(([, flat]) => {
      const fields: Record<string, string> = {};
      for (let i = 0; i + 1 < flat.length; i += 2) fields[flat[i]!] = flat[i + 1]!;
      return fields;
    });
  }

  /** Connections that carry this name: address, and whether a blocking command waits on it. */
  async connections(
    name: string,
  ): Promise<readonly { readonly address: string; readonly blocks: boolean }[]> {
    const list = (await this.world.redis.cli('CLIENT', 'LIST')) as string;
    return list
      .split('\n')
      .map((line) => new Map(line.split(' ').map((part) => part.split('=', 2) as [string, string])))
      .filter((fields) => fields.get('name') === name)
      .map((fields) => ({
        address: fields.get('addr') ?? '',
        blocks: (fields.get('flags') ?? '').includes('b') && fields.get('cmd') === 'xreadgroup',
      }));
  }

  /** Polls until a read of this consumer waits in Redis. */
  async untilReadBlocks({ memberId }: ConsumerProcess): Promise<void> {
    const name = memberId.replace(/-m0$/, '');
    await waitUntil(`a read of ${name} blocks`, PATIENCE_MS, async () =>
      (await this.connections(name)).some(({ blocks }) => blocks),
    );
  }
}
