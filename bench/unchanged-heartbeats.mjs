/**
 * Heartbeats that change nothing but their member's progress: 1,000 members in 10 groups, 64 in flight, one coordinator.
 *
 * 1. Per second, against a no-op POST with the same body on the same server stack, unvalidated. The two servers are loaded in
 *    turn (A B A B), so that whatever else the machine does meets both.
 * 2. Redis commands per heartbeat: EVALSHA and EVAL that Redis counted during the undisturbed load, times the share that all
 *    commands have to those two (seen by MONITOR in a phase of its own). What scripts run inside is no command.
 *
 *   node bench/unchanged-heartbeats.mjs [--check]
 */
import { createGroup, groupView, heartbeatPath, startCoordinator } from './lib/coordinator.mjs';
import { measureRuns, rateText, report, spreadOf, spreadRow } from './lib/measure.mjs';
import { cpuMsOf, startWorker } from './lib/processes.mjs';
import { callsBetween, commandCalls, monitored, startRedis } from './lib/redis.mjs';
import { heartbeatTemplate, joinedMembers } from './lib/simulated-members.mjs';

const GROUPS = 10;
const MEMBERS_PER_GROUP = 100;
const SHARDS_PER_GROUP = 256;
const IN_FLIGHT = 64;
const PHASE_MS = 1_000;
/** By number, not by time: code that runs half compiled is another subject. */
const WARM_UP_REQUESTS = 30_000;
const WARM_UP_PHASE_MS = 1_000;
const PHASES_PER_RUN = 6;
const MONITOR_MS = 2_000;
const RATIO_LIMIT = 0.6;
const COMMANDS_LIMIT = 0.25;
const SCRIPT_CALLS = ['evalsha', 'eval'];
/** A large prime stride: members of one group are spread over the round, in no regular order. */
const STRIDE = 617;

const redis = await startRedis();
/** Of the members of one group while those of the next one join: nobody's lease shall end meanwhile. */
const LEASES = { COORD_MEMBER_LEASE_TTL_MS: '60000', COORD_REBALANCE_TIMEOUT_MS: '60000' };
const coordinator = await startCoordinator(redis, { environment: LEASES });
const noop = await startWorker('baselines/noop-server.mjs');
const noopUrl = await noop.ask('url');
const load = await startWorker('load/http-load.mjs');
const groups = Array.from({ length: GROUPS }, (_unused, index) => ({
  streamPrefix: `${redis.namespace}-${index}`,
  consumerGroup: 'bench',
}));

async function prepareMembers() {
  const requests = [];
  for (const group of groups) {
    await createGroup(coordinator, { ...group, shardCount: SHARDS_PER_GROUP });
    for (const member of await joinedMembers(coordinator, group, MEMBERS_PER_GROUP)) {
      const path = heartbeatPath(group, member.memberId);
      requests.push({ path, template: heartbeatTemplate(group, member) });
    }
  }
  const spread = requests.map((_unused, index) => requests[(index * STRIDE) % requests.length]);
  await load.ask('prepare', { requests: spread });
}

const versions = async () =>
  JSON.stringify(
    await Promise.all(groups.map(async (group) => (await groupView(coordinator, group)).metadataVersion)),
  );

async function phase(url, pid, durationMs = PHASE_MS) {
  const cpuBeforeMs = cpuMsOf(pid);
  const callsBefore = await commandCalls(redis.client);
  const result = await load.ask('run', { url, inFlight: IN_FLIGHT, durationMs });
  const callsAfter = await commandCalls(redis.client);
  if (result.unexpected > 0) {
    throw new Error(`${result.unexpected} of ${result.count} answers were not OK (${result.lastError})`);
  }
  const cpuMs = cpuBeforeMs === null ? Number.NaN : cpuMsOf(pid) - cpuBeforeMs;
  return { ...result, cpuMs, scriptCalls: callsBetween(callsBefore, callsAfter, SCRIPT_CALLS) };
}

async function warmUp(url, pid) {
  for (let done = 0; done < WARM_UP_REQUESTS; ) done += (await phase(url, pid, WARM_UP_PHASE_MS)).count;
}

const total = (phases, field) => phases.reduce((sum, one) => sum + one[field], 0);

async function oneRun() {
  const ours = [];
  const baseline = [];
  for (let index = 0; index < PHASES_PER_RUN; index += 1) {
    ours.push(await phase(coordinator.url, coordinator.pid));
    baseline.push(await phase(noopUrl, noop.pid));
  }
  const side = (phases) => ({
    perSecond: (total(phases, 'count') / total(phases, 'elapsedMs')) * 1_000,
    cpuMicros: (total(phases, 'cpuMs') / total(phases, 'count')) * 1_000,
    busy: total(phases, 'cpuMs') / total(phases, 'elapsedMs'),
    scriptCalls: total(phases, 'scriptCalls') / total(phases, 'count'),
    p99Ms: spreadOf(phases.map(({ p99Ms }) => p99Ms)).median,
  });
  return { ours: side(ours), baseline: side(baseline) };
}

/** All commands of the coordinator for each of its script calls. */
async function commandsPerScriptCall() {
  let all = 0;
  let scripts = 0;
  await monitored(
    redis,
    ({ args }) => {
      all += 1;
      if (SCRIPT_CALLS.includes(args[0].toLowerCase())) scripts += 1;
    },
    () => load.ask('run', { url: coordinator.url, inFlight: IN_FLIGHT, durationMs: MONITOR_MS }),
  );
  return all / scripts;
}

try {
  await prepareMembers();
  await warmUp(coordinator.url, coordinator.pid);
  await warmUp(noopUrl, noop.pid);
  const before = await versions();
  const runs = await measureRuns(oneRun);
  const allPerScript = await commandsPerScriptCall();
  if ((await versions()) !== before) throw new Error('a heartbeat changed a group: this was another load');

  const ratios = runs.map(({ ours, baseline }) => ours.perSecond / baseline.perSecond);
  const field = (side, name) => runs.map((run) => run[side][name]);
  const median = (side, name, digits) => spreadOf(field(side, name)).median.toFixed(digits);
  report(
    `unchanged heartbeats: ${GROUPS * MEMBERS_PER_GROUP} members, ${GROUPS} groups of ${SHARDS_PER_GROUP} shards, ${IN_FLIGHT} in flight`,
    [
      spreadRow({
        name: 'against a no-op POST',
        values: ratios,
        limit: RATIO_LIMIT,
        unit: 'x',
        higherIsBetter: true,
        note:
          `${rateText(field('ours', 'perSecond'))} against ${rateText(field('baseline', 'perSecond'))}; ` +
          `CPU ${median('ours', 'cpuMicros', 0)} against ${median('baseline', 'cpuMicros', 0)} us each; ` +
          `server busy ${median('ours', 'busy', 2)} and ${median('baseline', 'busy', 2)} of a core; ` +
          `p99 ${median('ours', 'p99Ms', 1)} and ${median('baseline', 'p99Ms', 1)} ms`,
      }),
      spreadRow({
        name: 'Redis commands per heartbeat',
        values: field('ours', 'scriptCalls').map((calls) => calls * allPerScript),
        limit: COMMANDS_LIMIT,
        unit: '',
        note: `${allPerScript.toFixed(3)} commands for each script call`,
      }),
    ],
  );
} finally {
  await Promise.all([load.stop(), noop.stop(), coordinator.stop()]);
  await redis.stop();
}
