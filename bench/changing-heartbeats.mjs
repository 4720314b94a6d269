/**
 * Heartbeats of which each changes what is recorded (its concurrency, 4 and 5 in turn), on one group of 200 members and 512
 * shards, 64 in flight, against a section of four round trips for each. Both in this process and on the same Redis, in turn.
 * Over HTTP as well, for information.
 *
 *   node bench/changing-heartbeats.mjs [--check]
 */
import { SETTINGS, startFourRoundTrips } from './baselines/four-round-trips.mjs';
import { createGroup, heartbeatPath, startCoordinator } from './lib/coordinator.mjs';
import { groupAtRest, heartbeatCommand, startSection } from './lib/in-process-section.mjs';
import { measureRuns, percentile, rateText, report, spreadOf, spreadRow } from './lib/measure.mjs';
import { startWorker } from './lib/processes.mjs';
import { startRedis } from './lib/redis.mjs';
import { heartbeatTemplate, joinedMembers } from './lib/simulated-members.mjs';

const MEMBERS = 200;
const SHARDS = 512;
const IN_FLIGHT = 64;
/** Short, and many: whatever else the machine does then meets all of them. */
const PHASE_MS = 600;
const PHASES_PER_RUN = 5;
const HTTP_PHASE_MS = 3_000;
const WARM_UP_MS = 3_000;
const LIMIT = 10;
const TOGGLED = [4, 5];
const OURS = 'OURS';

const redis = await startRedis();
let counter = 0;

/** Runs `change(number)` with IN_FLIGHT at a time. @returns how long each took, and time and CPU time of them together. */
async function phaseOf(change, durationMs = PHASE_MS) {
  const timesMs = [];
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const worker = async () => {
    while (performance.now() - startedAtMs < durationMs) {
      const begunAtMs = performance.now();
      counter += 1;
      await change(counter);
      timesMs.push(performance.now() - begunAtMs);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const elapsedMs = performance.now() - startedAtMs;
  const cpu = process.cpuUsage(cpuBefore);
  return { timesMs, elapsedMs, cpuMicros: cpu.user + cpu.system };
}

function summaryOf(phases) {
  const timesMs = phases.flatMap((phase) => phase.timesMs).sort((left, right) => left - right);
  const total = (field) => phases.reduce((sum, phase) => sum + phase[field], 0);
  return {
    perSecond: (timesMs.length / total('elapsedMs')) * 1_000,
    cpuMicros: total('cpuMicros') / timesMs.length,
    p99Ms: percentile(timesMs, 0.99),
  };
}

/** All sides in turn, several times. */
async function oneRun(sides) {
  const phases = new Map(sides.map(({ name }) => [name, []]));
  for (let round = 0; round < PHASES_PER_RUN; round += 1) {
    for (const { name, change } of sides) phases.get(name).push(await phaseOf(change));
  }
  return Object.fromEntries([...phases].map(([name, measured]) => [name, summaryOf(measured)]));
}

async function inProcess() {
  const key = { streamPrefix: `${redis.namespace}-orders`, consumerGroup: 'bench' };
  const coordinator = await startSection(redis);
  const members = await groupAtRest(coordinator, key, { memberCount: MEMBERS, shardCount: SHARDS });
  const aggregate = await redis.client.hget(coordinator.keys.metadata(key), 'aggregate');
  const metadataKey = `${redis.namespace}:baseline:metadata`;
  await redis.client.hset(metadataKey, 'aggregate', aggregate);
  const turnOf = (number) => ({
    member: members[number % MEMBERS],
    maxConcurrency: TOGGLED[Math.floor(number / MEMBERS) % 2],
  });
  const ours = async (number) => {
    const { member, maxConcurrency } = turnOf(number);
    const { reply } = await coordinator.section.run(
      key,
      heartbeatCommand(member, { counter: number, maxConcurrency }),
    );
    if (reply.status !== 'OK') throw new Error(`${member.memberId}: ${reply.status ?? reply.code}`);
  };
  const baselines = await Promise.all(
    SETTINGS.map(async (setting) => {
      const lockKey = `${redis.namespace}:baseline:lock`;
      const baseline = await startFourRoundTrips(redis.url, { metadataKey, lockKey, setting });
      const change = (number) => {
        const { member, maxConcurrency } = turnOf(number);
        return baseline.change(member.memberId, maxConcurrency);
      };
      return { name: setting, change, stop: baseline.stop };
    }),
  );
  const sides = [{ name: OURS, change: ours }, ...baselines];
  for (const { change } of sides) await phaseOf(change, WARM_UP_MS);
  const runs = await measureRuns(() => oneRun(sides));
  coordinator.stop();
  for (const { stop } of baselines) stop();
  return { runs, aggregateBytes: aggregate.length };
}

async function overHttp() {
  const coordinator = await startCoordinator(redis);
  const load = await startWorker('load/http-load.mjs');
  try {
    const group = { streamPrefix: `${redis.namespace}-http`, consumerGroup: 'bench' };
    await createGroup(coordinator, { ...group, shardCount: SHARDS });
    const members = await joinedMembers(coordinator, group, MEMBERS);
    const requests = members.map((member) => ({
      path: heartbeatPath(group, member.memberId),
      template: heartbeatTemplate(group, member, { isChanging: true }),
    }));
    await load.ask('prepare', { requests });
    const phase = (durationMs) => load.ask('run', { url: coordinator.url, inFlight: IN_FLIGHT, durationMs });
    await phase(WARM_UP_MS);
    const runs = await measureRuns(() => phase(HTTP_PHASE_MS));
    const unexpected = runs.find((run) => run.unexpected > 0);
    if (unexpected) throw new Error(`${unexpected.unexpected} answers were not OK (${unexpected.lastError})`);
    const p99Ms = spreadOf(runs.map((run) => run.p99Ms)).median;
    return `${rateText(runs.map((run) => run.perSecond))}, p99 ${p99Ms.toFixed(1)} ms`;
  } finally {
    await Promise.all([load.stop(), coordinator.stop()]);
  }
}

const describe = (name, runs) => {
  const median = (field) => spreadOf(runs.map((run) => run[field])).median;
  const rate = rateText(runs.map((run) => run.perSecond));
  return `${name} ${rate} p99 ${median('p99Ms').toFixed(1)} ms CPU ${median('cpuMicros').toFixed(0)} us each`;
};

try {
  const { runs, aggregateBytes } = await inProcess();
  const best = (run) => Math.max(...SETTINGS.map((setting) => run[setting].perSecond));
  const sides = [OURS, ...SETTINGS].map((side) =>
    describe(
      side.toLowerCase(),
      runs.map((run) => run[side]),
    ),
  );
  report(
    `changing heartbeats: one group, ${MEMBERS} members, ${SHARDS} shards (aggregate ${aggregateBytes} bytes), ${IN_FLIGHT} in flight`,
    [
      spreadRow({
        name: 'against four round trips each',
        values: runs.map((run) => run[OURS].perSecond / best(run)),
        limit: LIMIT,
        unit: 'x',
        higherIsBetter: true,
        note: sides.join('; '),
      }),
    ],
  );
  console.log(`  for information, the whole way over HTTP: ${await overHttp()}`);
} finally {
  await redis.stop();
}
