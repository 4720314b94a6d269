/**
 * A tick of the event loop with 10,000 groups of which none is due: Redis commands per tick, counted by MONITOR over many
 * ticks of a real coordinator that has nothing else to do. Whatever is sent on the connection of the ticks counts; what the
 * other one sends (the subscription to notices: a PING now and then) is told.
 *
 *   node bench/tick.mjs [--check]
 */
import { createGroup, startCoordinator } from './lib/coordinator.mjs';
import { measureRuns, report, spreadOf, spreadRow } from './lib/measure.mjs';
import { cpuMsOf, waitUntil } from './lib/processes.mjs';
import { monitored, startRedis } from './lib/redis.mjs';

const GROUPS = 10_000;
const CREATED_AT_ONCE = 32;
const TICK_INTERVAL_MS = 100;
const OBSERVED_MS = 3_000;
const SETTLE_DEADLINE_MS = 60_000;
const LIMIT = 1;
/** The slow sweep looks at each group once per lease: it shall not come due while we count. */
const LEASE_MS = 3_600_000;

const redis = await startRedis();
const coordinator = await startCoordinator(redis, {
  environment: {
    COORD_TICK_INTERVAL_MS: String(TICK_INTERVAL_MS),
    COORD_MEMBER_LEASE_TTL_MS: String(LEASE_MS),
    COORD_REBALANCE_TIMEOUT_MS: String(LEASE_MS),
  },
});

async function createGroups() {
  let next = 0;
  const creator = async () => {
    while (next < GROUPS) {
      const streamPrefix = `${redis.namespace}-${next}`;
      next += 1;
      await createGroup(coordinator, { streamPrefix, consumerGroup: 'bench', shardCount: 1 });
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, creator));
  const index = `${redis.keyPrefix}:groups`;
  await waitUntil('no group is due', SETTLE_DEADLINE_MS, async () => {
    const soonMs = Date.now() + LEASE_MS / 2;
    return (await redis.client.zcount(index, '-inf', soonMs)) === 0;
  });
  const indexed = await redis.client.zcard(index);
  if (indexed !== GROUPS) throw new Error(`the index holds ${indexed} groups`);
}

async function observe() {
  const seen = [];
  const cpuBeforeMs = cpuMsOf(coordinator.pid);
  await monitored(
    redis,
    ({ address, args }) => {
      seen.push({ address, name: args[0].toUpperCase(), isTick: args.includes(`${redis.keyPrefix}:loop`) });
    },
    () => new Promise((resolve) => setTimeout(resolve, OBSERVED_MS)),
  );
  const ticks = seen.filter(({ isTick }) => isTick);
  if (ticks.length === 0) throw new Error('no tick was seen');
  const addresses = new Set(ticks.map(({ address }) => address));
  const [counted, others] = [true, false].map((isCounted) =>
    seen.filter(({ address }) => addresses.has(address) === isCounted),
  );
  return {
    ticks: ticks.length,
    perTick: counted.length / ticks.length,
    counted: namesOf(counted),
    others: namesOf(others),
    cpuMs: cpuMsOf(coordinator.pid) - cpuBeforeMs,
  };
}

function namesOf(commands) {
  const counts = new Map();
  for (const { name } of commands) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'nothing';
}

try {
  await createGroups();
  const runs = await measureRuns(observe);
  const seen = runs.map(({ counted, others }) => `${counted} (beside them ${others})`);
  const ticks = spreadOf(runs.map((run) => run.ticks)).median;
  const cpuMs = spreadOf(runs.map((run) => run.cpuMs / run.ticks)).median;
  report(`tick: ${GROUPS} groups, none due`, [
    spreadRow({
      name: 'Redis commands per tick',
      values: runs.map(({ perTick }) => perTick),
      limit: LIMIT,
      unit: '',
      note: `${ticks} ticks a run; seen: ${seen.join('; ')}; CPU ${cpuMs.toFixed(1)} ms a tick`,
    }),
  ]);
} finally {
  await coordinator.stop();
  await redis.stop();
}
