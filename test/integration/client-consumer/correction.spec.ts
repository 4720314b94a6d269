import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { CoordinatorPort } from '../../../src/client/consumer/coordinator-port';
import type { StreamConsumer } from '../../../src/client/consumer/stream-consumer';
import type { VersionStore } from '../../../src/client/versions/version-store';
import type { HeartbeatAnswer, HeartbeatStatus } from '../../../src/protocol';
import { ConsumerWorld } from '../../support/consumer-world';
import { startRedisServer } from '../../support/redis-server';
import type { RedisServer } from '../../support/redis-server';

let server: RedisServer;
let world: ConsumerWorld;
/** Added to every token, as a coordinator does that draws new ones for what is held. */
let tokenOffset: number;
let rounds: string[];
let tokens: number[];

beforeAll(async () => {
  server = await startRedisServer();
});

afterAll(async () => {
  await server.stop();
});

beforeEach(() => {
  world = new ConsumerWorld(server, {
    heartbeatIntervalMs: 200,
    leaseTtlMs: 5_000,
    rebalanceTimeoutMs: 10_000,
  });
  [tokenOffset, rounds, tokens] = [0, [], []];
});

afterEach(async () => {
  await world.close();
});

function withNewTokens(answer: HeartbeatAnswer): HeartbeatAnswer {
  const fencingTokens = (answer.assignment.fencingTokens ?? []).map(({ shardIndex, token }) => {
    return { shardIndex, token: token + tokenOffset };
  });
  return { ...answer, assignment: { ...answer.assignment, fencingTokens } };
}

const port: CoordinatorPort = {
  heartbeat: async (...call) => withNewTokens(await world.coordinator.heartbeat(...call)),
  producerRouting: async () => world.coordinator.producerRouting(),
};

async function reading(options: Parameters<ConsumerWorld['consumer']>[0] = {}): Promise<StreamConsumer> {
  await world.createShards(2);
  world.coordinator.assign('a-m0', [0, 1]);
  const consumer = world.consumer({
    coordinator: port,
    handler: (_message, context) => void tokens.push(context.fencingToken),
    ...options,
  });
  consumer.on('correction', ({ state }) => rounds.push(state));
  await consumer.start();
  await world.untilBlocked();
  return consumer;
}

/** Heartbeats of the running tenure are answered with this status; whatever else, and null, as usual. */
async function answerBeatsWith(status: HeartbeatStatus | null): Promise<void> {
  const from = world.coordinator.seen.length;
  world.coordinator.answerWith(({ memberEpoch }) => (memberEpoch > 0 ? status : null));
  await world.until('answered twice', () => world.coordinator.seen.length >= from + 2);
}

describe('a consumer in a correction round', () => {
  it('reads on what it keeps, under the new tokens, and tells when the round starts and ends', async () => {
    const metricsRegistry = new Registry();
    const consumer = await reading({ metricsRegistry });
    await world.add(0, 'before');
    await world.until('handled', () => world.values.includes('before'));
    await world.untilBlocked();
    tokenOffset = 1_000;
    await answerBeatsWith('SYNC_METADATA');
    await answerBeatsWith('REVOKE_PENDING');
    await world.add(1, 'within');
    await world.until('handled', () => world.values.includes('within'));
    expect(tokens[1]! - tokens[0]!).toBeGreaterThan(900);
    expect(rounds).toEqual(['STARTED']);
    const labels = `{stream="${world.streamPrefix}",consumer_group="g"}`;
    const within = await metricsRegistry.metrics();
    expect(within).toContain(`redis_stream_client_correcting_members${labels} 1`);
    expect(within).toContain(`redis_stream_client_correction_rounds_total${labels} 1`);
    await answerBeatsWith(null);
    await world.until('over', () => rounds.length === 2);
    expect(rounds).toEqual(['STARTED', 'ENDED']);
    await world.add(0, 'after');
    await world.until('handled', () => world.values.includes('after'));
    expect(world.events).toEqual(['assigned 0', 'assigned 1']);
    expect(consumer.ownedShards).toEqual([0, 1]);
    expect(await metricsRegistry.metrics()).toContain(`redis_stream_client_correcting_members${labels} 0`);
  });

  it('handles once more, after the round, what Redis took back of its acks', async () => {
    await reading();
    const [id] = await world.add(0, 'acked');
    await world.until('handled', () => world.values.includes('acked'));
    await world.untilNothingPending(0);
    await answerBeatsWith('SYNC_METADATA');
    const name = (await world.consumerNames(0)).find((consumer) => consumer.startsWith('a-m0'))!;
    await world.redis.xclaim(world.key(0), 'g', name, 0, id!, 'FORCE', 'JUSTID');
    await answerBeatsWith(null);
    await world.until('handled again', () => world.values.length === 2);
    await world.untilNothingPending(0);
    expect(world.values).toEqual(['acked', 'acked']);
  });

  it('tells of the end when it is stopped in the round', async () => {
    const consumer = await reading();
    await answerBeatsWith('SYNC_METADATA');
    await consumer.stop();
    expect(rounds).toEqual(['STARTED', 'ENDED']);
  });
});

describe('a consumer with a version store', () => {
  it('tells what an earlier process saw from its first join on, and keeps what it sees itself', async () => {
    const kept = new Map([[`${world.streamPrefix}:g`, 900]]);
    const versionStore: VersionStore = {
      load: async (key) => kept.get(key) ?? null,
      save: async (key, version) => void kept.set(key, version),
    };
    const consumer = await reading({ versionStore, concurrency: 2 });
    const joins = world.coordinator.seen.filter(({ body }) => body.memberEpoch === 0);
    expect(joins.map(({ body }) => [body.memberId, body.maxObservedVersion])).toContainEqual(['a-m0', 900]);
    expect(joins.every(({ body }) => body.maxObservedVersion! >= 900)).toBe(true);
    await world.until('saved', () => kept.get(`${world.streamPrefix}:g`)! > 900);
    await consumer.stop();
    const highest = Math.max(...world.coordinator.seen.map(({ body }) => body.maxObservedVersion ?? 0));
    expect(kept.get(`${world.streamPrefix}:g`)).toBeGreaterThanOrEqual(highest);
  });

  it('starts, reads and stops with one that fails, and tells of it', async () => {
    const metricsRegistry = new Registry();
    const versionStore: VersionStore = {
      load: async () => Promise.reject(new Error('no disk')),
      save: async () => Promise.reject(new Error('no disk')),
    };
    const consumer = await reading({ versionStore, metricsRegistry });
    await world.add(0, 'x');
    await world.until('handled', () => world.values.includes('x'));
    await world.until('told', () => world.errors.length >= 2);
    expect(world.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('could not load'),
      expect.stringContaining('could not save'),
    ]);
    expect(await metricsRegistry.metrics()).toMatch(/version_store_faults_total\{.*operation="load"\} 1/);
    await consumer.stop();
  });
});
