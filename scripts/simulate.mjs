// Runs schedules of the deterministic simulation (docs/simulation.md):
//   npm run simulate -- --seeds 1..10000      all of them, on all cores; exit code 1 when one is violated
//   npm run simulate -- --seed 4711 --trace   one of them, with its whole history
// --without KIND,KIND leaves kinds of faults out. The sources are compiled as they are, without a build before.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { compileSimulation } from './simulate/compile.mjs';
import { readArguments, USAGE } from './simulate/arguments.mjs';
import { Totals } from './simulate/totals.mjs';

const SEEDS_PER_BATCH = 25;
/** Failing seeds whose trace is shown; the others are only named. */
const SHOWN_TRACES = 3;
const TRACE_TAIL_LINES = 60;

process.exitCode = await main(process.argv.slice(2));

async function main(given) {
  const options = readArguments(given);
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const compiled = compileSimulation();
  if (options.isTraced) return traceOne(compiled, options);
  const startedAtMs = performance.now();
  const totals = new Totals();
  await runAll(compiled, options, totals);
  totals.print((performance.now() - startedAtMs) / 1_000);
  for (const { seed } of totals.failures.slice(0, SHOWN_TRACES)) showTail(seed, options);
  const rare = totals.rareFaults(await kindsOf(compiled, options));
  if (rare.length > 0) console.log(`too rare to prove anything: ${rare.join(', ')}`);
  return totals.failures.length + rare.length > 0 ? 1 : 0;
}

async function kindsOf(compiled, { without }) {
  const { default: faults } = await import(compiled.faults);
  return faults.FAULT_KINDS.filter((kind) => !without.includes(kind));
}

async function traceOne(compiled, { from, without }) {
  const { default: runs } = await import(compiled.entry);
  const outcome = await runs.runSchedule({ seed: from, keepsTrace: true, without: new Set(without) });
  for (const line of outcome.trace) console.log(line);
  console.log(`trace hash: ${outcome.traceHash}`);
  for (const { atMs, invariant, detail } of outcome.violations) {
    console.log(`violation at ${atMs} ms: ${invariant}: ${detail}`);
  }
  return outcome.violations.length > 0 ? 1 : 0;
}

/** Hands batches of seeds to one worker per core; which worker ran a seed makes no difference to it. */
async function runAll(compiled, { from, to, without, workers }, totals) {
  let next = from;
  const takeBatch = () => {
    if (next > to) return null;
    const batch = { from: next, to: Math.min(to, next + SEEDS_PER_BATCH - 1) };
    next = batch.to + 1;
    return batch;
  };
  const count = Math.min(workers ?? availableParallelism(), Math.ceil((to - from + 1) / SEEDS_PER_BATCH));
  await Promise.all(Array.from({ length: count }, () => runWorker(compiled, without, takeBatch, totals)));
}

function runWorker(compiled, without, takeBatch, totals) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(compiled.worker, { workerData: { entry: compiled.entry, without } });
    const feed = () => {
      const batch = takeBatch();
      if (batch === null) worker.postMessage(null);
      else worker.postMessage(batch);
    };
    worker.on('message', (outcomes) => {
      for (const outcome of outcomes) totals.add(outcome);
      feed();
    });
    worker.once('error', reject);
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)),
    );
    feed();
  });
}

/** The end of a failing schedule's history: it is run again, which gives the same. */
function showTail(seed, { without }) {
  const more = without.length > 0 ? ['--without', without.join(',')] : [];
  const script = process.argv[1];
  if (!existsSync(script)) return;
  const ran = spawnSync(process.execPath, [script, '--seed', String(seed), '--trace', ...more], {
    encoding: 'utf8',
    maxBuffer: 1024 * 1024 * 1024,
  });
  const lines = ran.stdout.trimEnd().split('\n');
  console.log(`\n--- seed ${seed}, the last ${TRACE_TAIL_LINES} of ${lines.length} lines`);
  console.log(lines.slice(-TRACE_TAIL_LINES).join('\n'));
  console.log(`--- replay: npm run simulate -- --seed ${seed} --trace ${more.join(' ')}`);
}
