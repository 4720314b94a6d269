/**
 * Publishing by the SDK with 64 in flight, against XADD of the same entries by ioredis with as many in flight. Each side in a
 * process of its own, on the same Redis, in turn; the streams are emptied in between.
 *
 *   node bench/publish.mjs [--check]
 */
import { createGroup, startCoordinator } from './lib/coordinator.mjs';
import { measureRuns, rateText, report, spreadOf, spreadRow } from './lib/measure.mjs';
import { startWorker } from './lib/processes.mjs';
import { startRedis } from './lib/redis.mjs';

const SHARDS = 8;
const IN_FLIGHT = 64;
const PHASE_MS = 1_000;
const PHASES_PER_RUN = 3;
const WARM_UP_MS = 3_000;
const LIMIT = 0.8;
const SDK = 'SDK';

const redis = await startRedis();
const coordinator = await startCoordinator(redis);
const streamPrefix = `${redis.namespace}-orders`;
const group = { streamPrefix, consumerGroup: 'bench' };
const sdk = await startWorker('load/sdk-publisher.mjs');
const raw = await startWorker('baselines/raw-publisher.mjs');

async function phase(side, durationMs = PHASE_MS) {
  const settings = { inFlight: IN_FLIGHT, durationMs };
  const result =
    side === SDK ? await sdk.ask('run', settings) : await raw.ask('run', { ...settings, setting: side });
  for (const key of keys) await redis.client.xtrim(key, 'MAXLEN', 0);
  return result;
}

async function oneRun(sides) {
  const phases = new Map(sides.map((side) => [side, []]));
  for (let round = 0; round < PHASES_PER_RUN; round += 1) {
    for (const side of sides) phases.get(side).push(await phase(side));
  }
  const total = (side, field) => phases.get(side).reduce((sum, one) => sum + one[field], 0);
  return Object.fromEntries(
    sides.map((side) => [
      side,
      {
        perSecond: (total(side, 'count') / total(side, 'elapsedMs')) * 1_000,
        cpuMicros: (total(side, 'cpuMs') / total(side, 'count')) * 1_000,
      },
    ]),
  );
}

const keys = Array.from({ length: SHARDS }, (_unused, shard) => `${streamPrefix}:${shard}`);
try {
  await createGroup(coordinator, { ...group, shardCount: SHARDS });
  await sdk.ask('start', { coordinatorUrl: coordinator.url, redis: redis.url, ...group });
  const settings = await raw.ask('start', { redis: redis.url, keys });
  const sides = [SDK, ...settings];
  for (const side of sides) await phase(side, WARM_UP_MS);
  const runs = await measureRuns(() => oneRun(sides));
  const best = (run) => Math.max(...settings.map((setting) => run[setting].perSecond));
  const describe = (side) => {
    const cpuMicros = spreadOf(runs.map((run) => run[side].cpuMicros)).median;
    return `${side} ${rateText(runs.map((run) => run[side].perSecond))} CPU ${cpuMicros.toFixed(1)} us each`;
  };
  report(`publish: ${SHARDS} shards, ${IN_FLIGHT} in flight`, [
    spreadRow({
      name: 'against raw XADD',
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
