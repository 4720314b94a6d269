/**
 * Runs the benchmarks, one after the other, each in a process of its own.
 *
 *   npm run bench                        all of them
 *   npm run bench -- publish consume     those named
 *   npm run bench -- --check             exit 1 when a limit is missed; without it a missed limit is only told
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BENCHMARKS = [
  'unchanged-heartbeats',
  'changing-heartbeats',
  'join',
  'assignor',
  'tick',
  'consume',
  'publish',
];
const root = fileURLToPath(new URL('../', import.meta.url));

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = [
  ...names.filter((name) => !BENCHMARKS.includes(name)),
  ...flags.filter((flag) => flag !== '--check'),
];
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${BENCHMARKS.join(', ')}, and --check`);
  process.exit(2);
}

const run = (command, commandArguments) =>
  spawnSync(command, commandArguments, { cwd: root, stdio: 'inherit' }).status ?? 1;

if (!existsSync(`${root}dist/main.js`) && run('npm', ['run', '--silent', 'build']) !== 0) process.exit(2);

// A missed limit without --check is exit 0; anything else that is not 0 is a benchmark that could not run.
const failed = (names.length > 0 ? names : BENCHMARKS).filter(
  (name) => run(process.execPath, [`bench/${name}.mjs`, ...flags]) !== 0,
);
if (failed.length > 0) {
  console.error(`missed or failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
