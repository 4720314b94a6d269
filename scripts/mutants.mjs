// Plants known faults into a copy of the sources, one by one, and sees whether they are caught (docs/exploration.md):
//   npm run mutants                  all
//   npm run mutants -- NAME...       those
//   npm run mutants -- --quick       the sample that is part of every test run
// A fault that nothing catches fails the run, and so does one that no longer applies, whether it was to be run or not.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './mutants/list.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const COPIED = ['src', 'test', 'scripts', 'lua', 'package.json', 'jest.config.js'];
const DETECTORS = { exploration: explore, simulation: simulate, test: runTest };
const SEEDS_AT_ONCE = 20;
/** Within which a fault must be caught. */
const BOUND_MS = 300_000;

process.exitCode = await main(process.argv.slice(2));

async function main(given) {
  const isQuick = given.includes('--quick');
  const names = given.filter((one) => one !== '--quick');
  const unknown = names.filter((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}; there are ${MUTANTS.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const stale = MUTANTS.flatMap(faultsOfPatches);
  for (const fault of stale) console.log(fault);
  const meant = MUTANTS.filter(({ name, isQuick: isSample }) =>
    names.length > 0 ? names.includes(name) : !isQuick || isSample === true,
  );
  const survivors = await runAll(meant);
  console.log(
    `mutants: ${meant.length - survivors} caught, ${survivors} survived, ${stale.length} no longer apply`,
  );
  return survivors + stale.length > 0 ? 1 : 0;
}

function faultsOfPatches({ name, patches }) {
  return patches.flatMap(({ file, find }) => {
    const times = readFileSync(join(root, file), 'utf8').split(find).length - 1;
    return times === 1 ? [] : [`${name}: its text is ${times} times in ${file}`];
  });
}

async function runAll(meant) {
  const waiting = meant.filter((mutant) => faultsOfPatches(mutant).length === 0);
  let survivors = 0;
  console.log(`${'mutant'.padEnd(44)}${'caught by'.padEnd(36)}seconds`);
  const work = async () => {
    const copy = copySources();
    try {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        if (!(await runOne(mutant, copy))) survivors += 1;
      }
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), waiting.length) }, work));
  return survivors;
}

/** The working tree is never touched. */
function copySources() {
  const copy = mkdtempSync(join(tmpdir(), 'redis-stream-coordinator-mutants-'));
  for (const entry of COPIED) cpSync(join(root, entry), join(copy, entry), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function runOne({ name, patches, detector }, copy) {
  const startedAtMs = performance.now();
  for (const { file, find, replace } of patches) {
    const path = join(copy, file);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(find, () => replace),
    );
  }
  const caughtBy = await DETECTORS[detector.kind](copy, detector, startedAtMs + BOUND_MS);
  for (const { file } of patches) cpSync(join(root, file), join(copy, file));
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  console.log(`${name.padEnd(44)}${(caughtBy ?? 'NOTHING').padEnd(36)}${seconds.padStart(7)}`);
  return caughtBy !== null;
}

async function explore(copy, { worlds }, deadlineMs) {
  for (const world of worlds) {
    const output = await run(copy, ['scripts/explore.mjs', world], deadlineMs);
    const found = new RegExp(`^${world}: (.*)$`, 'm').exec(output);
    if (output.includes('VIOLATED') && found !== null) return world;
  }
  return null;
}

async function simulate(copy, { from, to }, deadlineMs) {
  for (let seed = from; seed <= to && performance.now() < deadlineMs; seed += SEEDS_AT_ONCE) {
    const seeds = `${seed}..${Math.min(to, seed + SEEDS_AT_ONCE - 1)}`;
    const output = await run(copy, ['scripts/simulate.mjs', '--workers', '1', '--seeds', seeds], deadlineMs);
    const violations = /^violations +([1-9]\d*)/m.exec(output);
    if (violations !== null) return `seeds ${seeds}`;
  }
  return null;
}

async function runTest(copy, { project, file, title }, deadlineMs) {
  const jest = ['node_modules/jest/bin/jest.js', '--rootDir', copy, '--selectProjects', project];
  const output = await run(copy, [...jest, '--testPathPatterns', file, '-t', title], deadlineMs);
  return output.split('\n').some((line) => line.includes('●') && line.includes(title)) ? file : null;
}

/** What the script printed, up to the deadline. */
function run(copy, command, deadlineMs) {
  const child = spawn(process.execPath, command, {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  // With whatever it has started: they are a group of their own.
  const stop = setTimeout(
    () => process.kill(-child.pid, 'SIGKILL'),
    Math.max(0, deadlineMs - performance.now()),
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(stop);
      resolve(output);
    });
  });
}
