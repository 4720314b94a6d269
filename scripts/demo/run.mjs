// `npm run demo`, on a machine that has only Node: installs, builds, gets a Redis, plays, and judges. Exit code 0 when every
// promise held, 1 when one was broken or the demo could not run, 130 after Ctrl-C.
//
//   npm run demo -- --sabotage early-ack      entries are acknowledged before they are handled
//   npm run demo -- --sabotage skip-pending   what a dead consumer left is not taken over
//   npm run demo -- --rows 5000               fewer entries
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepare } from './prepare.mjs';
import { Troupe } from './troupe.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SABOTAGES = ['early-ack', 'skip-pending'];
const MIN_ROWS = 3_000;

const startedAtMs = performance.now();
function say(text) {
  console.log(`${((performance.now() - startedAtMs) / 1_000).toFixed(1).padStart(6)} s  ${text}`);
}

function readOptions() {
  const { values } = parseArgs({ options: { sabotage: { type: 'string' }, rows: { type: 'string' } } });
  const { sabotage = null, rows } = values;
  if (sabotage !== null && !SABOTAGES.includes(sabotage)) {
    throw new Error(`--sabotage ${sabotage}: there are ${SABOTAGES.join(' and ')}`);
  }
  const rowLimit = rows === undefined ? undefined : Number(rows);
  if (rowLimit !== undefined && !(Number.isInteger(rowLimit) && rowLimit >= MIN_ROWS)) {
    throw new Error(`--rows ${rows}: at least ${MIN_ROWS}, so that there is time for what happens`);
  }
  return { sabotage, rowLimit };
}

/** Whether every promise held. */
async function run(options, troupe) {
  // Only now: they need what `prepare` installed and built.
  const [{ play }, { judge }, { reportLines }] = await Promise.all(
    ['./play.mjs', './verdict.mjs', './report.mjs'].map((module) => import(module)),
  );
  if (options.sabotage !== null) say(`SABOTAGE: ${options.sabotage}. The verdict has to find it.`);
  const result = await play(troupe, { ...options, say });
  const verdict = judge(result.keys, result.logs);
  for (const line of reportLines(verdict, result)) console.log(line);
  if (result.killed.unacked > 0 || options.sabotage !== null) return verdict.ok;
  console.log('BROKEN: the killed consumer had acknowledged everything, so that its death proved nothing.');
  return false;
}

async function main() {
  const options = readOptions();
  prepare(root, say);
  const troupe = new Troupe();
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => {
      console.error(`\n${signal}: ending`);
      void troupe.end().then(() => process.exit(code));
    });
  }
  try {
    return await run(options, troupe);
  } finally {
    await troupe.end();
  }
}

main().then(
  (held) => process.exit(held ? 0 : 1),
  (error) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    process.exit(1);
  },
);
