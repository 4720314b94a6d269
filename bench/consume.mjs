/**
 * Consuming a backlog on 8 shards by the SDK with a handler that does nothing, against a loop of XREADGROUP and XACK by
 * ioredis. Each side in a process of its own, on the same entries of the same Redis (each time as a new consumer group), in
 * turn. The SDK has its default settings: one logical member.
 *
 *   node bench/consume.mjs [--check]
 */
import { createGroup, startCoordinator } from './lib/coordinator.mjs';
import { measureRuns, rateText, report, spreadOf, spreadRow, wholeNumber } from './lib/measure.mjs';
import { startWorker } from './lib/processes.mjs';
import { startRedis } from './lib/redis.mjs';

const SHARDS = 8;
const ENTRIES = 160_000;
const PAYLOAD = 'p'.repeat(100);
const PIPELINE_LENGTH = 1_000;
/** It takes this many for the code of both sides to be compiled as far as it will be. */
const WARM_UP_ROUNDS = 3;
const LIMIT = 0.7;
const SDK = 'SDK';

const redis = await startRedis();
const coordinator = await startCoordinator(redis);
const sdk = await startWorker('load/sdk-consumer.mjs');
const raw = await startWorker('baselines/raw-consumer.mjs');
const streamPrefix = `${redis.namespace}-orders`;
const keys = Array.from({ length: SHARDS }, (_unused, shard) => `${streamPrefix}:${shard}`);
let groupCount = 0;

async function fillStreams() {
  for (let first = 0; first < ENTRIES; first += PIPELINE_LENGTH) {
    const pipeline = redis.client.pipeline();
    for (let number = first; number < first + PIPELINE_LENGTH; number += 1) {
      pipeline.xadd(keys[number % SHARDS], '*', 'eventId', String(number), 'payload', PAYLOAD);
    }
    await pipeline.exec();
  }
}

async function phase(side) {
  groupCount += 1;
  const consumerGroup = `bench-${groupCount}`;
  const task = { redis: redis.url, keys, streamPrefix, consumerGroup, entries: ENTRIES };
  // Groups of the baseline are made by the coordinator as well: both sides find the same.
  await createGroup(coordinator, { streamPrefix, consumerGroup, shardCount: SHARDS });
  if (side !== SDK) return raw.ask('run', { ...task, setting: side });
  return sdk.ask('run', { ...task, coordinatorUrl: coordinator.url });
}

try {
  await createGroup(coordinator, { streamPrefix, consumerGroup: 'bench-0', shardCount: SHARDS });
  await fillStreams();
  const settings = await raw.ask('settings');
  const sides = [SDK, ...settings];
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) for (const side of sides) await phase(side);
  const runs = await measureRuns(async () => {
    const result = {};
    for (const side of sides) result[side] = await phase(side);
    return result;
  });
  const best = (run) => Math.max(...settings.map((setting) => run[setting].perSecond));
  const describe = (side) => {
    const cpuMicros = spreadOf(runs.map((run) => run[side].cpuMicros)).median;
    return `${side} ${rateText(runs.map((run) => run[side].perSecond))} CPU ${cpuMicros.toFixed(1)} us each`;
  };
  report(`consume: ${SHARDS} shards, ${wholeNumber(ENTRIES)} entries`, [
    spreadRow({
      name: 'against raw XREADGROUP and XACK',
      values: runs.map((run) => run[SDK].perSecond / best(run)),
      limit: LIMIT,
      unit: 'x',
      higherIsBetter: true,
      note: sides.map(describe).join('; '),
    }),
  ]);
} finally {
  await Promise.all([sdk.stop(), raw.stop(), coordinator.stop()]);
  await redis.stop();
}
