// Explores every state of small worlds of the protocol (docs/exploration.md):
//   npm run explore                      all listed worlds, as many at once as there are cores
//   npm run explore -- 2x2 2x1-loss      those
//   npm run explore -- --quick           those that are part of every test run
// --write records what was counted in test/exploration/counts.json; without it, a count that differs fails the run.
// The sources are compiled as they are, without a build before.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const MAX_STATES = 60_000_000;
const HEAP_MIB = 8_192;
const FLAGS = ['--quick', '--write', '--one'];
const countsFile = new URL('../test/exploration/counts.json', import.meta.url);
const require = createRequire(import.meta.url);
require('./load-typescript.cjs');
const { WORLDS, exploreWorld } = require('../test/exploration/worlds.ts');

process.exitCode = await main(process.argv.slice(2));

async function main(given) {
  const names = given.filter((one) => !one.startsWith('--'));
  const unknown = [
    ...given.filter((one) => one.startsWith('--') && !FLAGS.includes(one)),
    ...names.filter((name) => !WORLDS.some((world) => world.name === name)),
  ];
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}; there are ${WORLDS.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  if (given.includes('--one')) {
    console.log(JSON.stringify(exploreWorld(names[0], MAX_STATES)));
    return 0;
  }
  const isMeant = ({ name, isQuick }) =>
    names.length > 0 ? names.includes(name) : isQuick || !given.includes('--quick');
  return exploreAll(WORLDS.filter(isMeant), given.includes('--write'));
}

async function exploreAll(worlds, isWriting) {
  const recorded = JSON.parse(readFileSync(countsFile, 'utf8'));
  const waiting = [...worlds];
  const counted = {};
  let failures = 0;
  console.log('world                          states   transitions  depth  seconds');
  const work = async () => {
    for (let world = waiting.shift(); world !== undefined; world = waiting.shift()) {
      if (!(await exploreOne(world, recorded, isWriting ? counted : null))) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  if (isWriting) writeCounts(counted);
  return failures > 0 ? 1 : 0;
}

/** `counted`: takes the counts in; null: they must be those that are recorded. */
async function exploreOne({ name }, recorded, counted) {
  const startedAtMs = performance.now();
  const result = await inProcessOfItsOwn(name);
  if (result === null) {
    console.log(`${name}: the exploration broke off`);
    return false;
  }
  const { violation, ...counts } = result;
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  const columns = [counts.states, counts.transitions, counts.depth, seconds];
  const widths = [12, 14, 7, 9];
  const isSame = JSON.stringify(counts) === JSON.stringify(recorded[name]);
  const remark = violation !== null ? '  VIOLATED' : counted !== null || isSame ? '' : '  OTHER COUNTS';
  console.log(name.padEnd(25) + columns.map((value, i) => `${value}`.padStart(widths[i])).join('') + remark);
  if (violation !== null) console.log(violation);
  else if (counted !== null) counted[name] = counts;
  return violation === null && (counted !== null || isSame);
}

/** The memory of one world is given back before the next one begins. */
function inProcessOfItsOwn(name) {
  const script = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MIB}`, script, '--one', name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code === 0 ? JSON.parse(output) : null));
  });
}

function writeCounts(counted) {
  // Another run may have written meanwhile.
  const all = { ...JSON.parse(readFileSync(countsFile, 'utf8')), ...counted };
  const listed = WORLDS.filter(({ name }) => all[name] !== undefined);
  const counts = Object.fromEntries(listed.map(({ name }) => [name, all[name]]));
  writeFileSync(countsFile, `${JSON.stringify(counts, null, 2)}\n`);
}
