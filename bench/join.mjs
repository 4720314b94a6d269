/**
 * A 9th member joins 8 with 64 shards: from the call of its `start` until each shard that it is given is read by it, which
 * includes its connections and checks, the join, the drains of the others and their telling of it. The members are consumers
 * of the SDK with default settings (long poll on), idle; the coordinator is a process of its own. What is read by whom is what
 * MONITOR sees of XREADGROUP.
 *
 *   node bench/join.mjs [--check]
 */
import { StreamConsumer } from 'redis-stream-coordinator/client';
import { createGroup, groupView, startCoordinator } from './lib/coordinator.mjs';
import { measureRuns, report, spreadOf, spreadRow } from './lib/measure.mjs';
import { waitUntil } from './lib/processes.mjs';
import { monitored, startRedis } from './lib/redis.mjs';

const SHARDS = 64;
const MEMBERS = 8;
const JOINS_PER_RUN = 10;
const WARM_UP_JOINS = 2;
const LIMIT_MS = 100;
const DEADLINE_MS = 20_000;
const JOINED = 'joiner';
/** Each shard counts for the member that read it last; the consumer name in Redis is `<memberId>:<epoch>`. */
const readers = new Map();
const reads = [];

const redis = await startRedis();
const coordinator = await startCoordinator(redis);
const group = { streamPrefix: `${redis.namespace}-orders`, consumerGroup: 'bench' };

function noteCommand({ atMs, args }) {
  if (args[0].toUpperCase() !== 'XREADGROUP') return;
  const member = args[args.findIndex((arg) => arg.toUpperCase() === 'GROUP') + 2].split('-m')[0];
  const rest = args.slice(args.findIndex((arg) => arg.toUpperCase() === 'STREAMS') + 1);
  for (const key of rest.slice(0, rest.length / 2)) {
    if (readers.get(key) === member) continue;
    readers.set(key, member);
    reads.push({ atMs, key, member });
  }
}

async function startMember(memberId) {
  const consumer = new StreamConsumer({
    coordinatorUrl: coordinator.url,
    redis: redis.url,
    ...group,
    memberId,
    handler: () => undefined,
  });
  consumer.on('error', (error) => console.error(error));
  await consumer.start();
  return consumer;
}

/** Stable, and every shard read by the member that the coordinator names. */
async function untilAtRest(what, consumers) {
  await waitUntil(what, DEADLINE_MS, async () => {
    if ((await groupView(coordinator, group)).state !== 'STABLE') return false;
    const owned = consumers.flatMap(({ memberId, consumer }) =>
      consumer.ownedShards.map((shard) => [`${group.streamPrefix}:${shard}`, memberId]),
    );
    return owned.length === SHARDS && owned.every(([key, memberId]) => readers.get(key) === memberId);
  });
}

async function oneJoin(consumers) {
  reads.length = 0;
  const calledAtMs = performance.now();
  let joinedAtMs = 0;
  const joined = startMember(JOINED).then((consumer) => {
    joinedAtMs = performance.now();
    return { memberId: JOINED, consumer };
  });
  const all = [...consumers, await joined];
  await untilAtRest('the join is complete', all);
  const gained = reads.filter(({ member }) => member === JOINED);
  const lastReadAtMs = Math.max(...gained.map(({ atMs }) => atMs));
  const { consumer } = all.at(-1);
  const result = {
    totalMs: lastReadAtMs - calledAtMs,
    joinMs: joinedAtMs - calledAtMs,
    shards: consumer.ownedShards.length,
  };
  await consumer.stop();
  await untilAtRest('the leave is complete', consumers);
  return result;
}

async function startMembers() {
  const consumers = [];
  for (let index = 0; index < MEMBERS; index += 1) {
    const memberId = `member${index}`;
    consumers.push({ memberId, consumer: await startMember(memberId) });
  }
  await untilAtRest('the first members are at rest', consumers);
  return consumers;
}

async function measureJoins() {
  const consumers = await startMembers();
  for (let index = 0; index < WARM_UP_JOINS; index += 1) await oneJoin(consumers);
  const runs = await measureRuns(() => measureRuns(() => oneJoin(consumers), JOINS_PER_RUN));
  await Promise.all(consumers.map(({ consumer }) => consumer.stop()));
  return runs;
}

try {
  await createGroup(coordinator, { ...group, shardCount: SHARDS });
  const runs = await monitored(redis, noteCommand, measureJoins);
  const joins = runs.flat();
  const totals = spreadOf(joins.map(({ totalMs }) => totalMs));
  const joinMs = spreadOf(joins.map((join) => join.joinMs)).median;
  const shards = [...new Set(joins.map((join) => join.shards))].join(' or ');
  report(`join: a member joins ${MEMBERS} with ${SHARDS} shards`, [
    spreadRow({
      name: `until it reads all its shards, median of ${JOINS_PER_RUN}`,
      values: runs.map((run) => spreadOf(run.map(({ totalMs }) => totalMs)).median),
      limit: LIMIT_MS,
      unit: 'ms',
      note:
        `it gets ${shards}; single joins ${totals.min.toFixed(0)} to ${totals.max.toFixed(0)} ms; ` +
        `connected and joined after ${joinMs.toFixed(0)} ms`,
    }),
  ]);
} finally {
  await coordinator.stop();
  await redis.stop();
}
