// Brings the package into a state in which it can run: dependencies installed, dist built. Uses Node alone.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const BUILD_INFO = 'dist/.tsbuildinfo';
const ENTRY_POINTS = ['dist/main.js', 'dist/client/index.js'];
const BUILD_INPUTS = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

export function prepare(root, log) {
  if (!dependenciesAreComplete(root)) {
    log('installing dependencies (npm ci)');
    run(root, npmCommand(), ['ci', '--no-audit', '--no-fund']);
  }
  if (!buildIsCurrent(root)) {
    log('building');
    // The incremental build skips what it thinks is there.
    if (!ENTRY_POINTS.every((file) => existsSync(join(root, file))))
      rmSync(join(root, BUILD_INFO), { force: true });
    run(
      root,
      [process.execPath, join(root, 'node_modules/typescript/bin/tsc')],
      ['-p', 'tsconfig.build.json'],
    );
  }
}

/** Every direct dependency is there in the version that package.json pins. */
export function dependenciesAreComplete(root) {
  const { dependencies, devDependencies } = readJson(join(root, 'package.json'));
  return Object.entries({ ...dependencies, ...devDependencies }).every(([name, version]) => {
    const file = join(root, 'node_modules', name, 'package.json');
    return existsSync(file) && readJson(file).version === version;
  });
}

export function buildIsCurrent(root) {
  if (![...ENTRY_POINTS, BUILD_INFO].every((file) => existsSync(join(root, file)))) return false;
  const builtMs = statSync(join(root, BUILD_INFO)).mtimeMs;
  return BUILD_INPUTS.every((path) => newestMs(join(root, path)) <= builtMs);
}

function newestMs(path) {
  const status = statSync(path);
  if (!status.isDirectory()) return status.mtimeMs;
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMs(join(path, name))), 0);
}

function npmCommand() {
  const script = process.env.npm_execpath; // set when npm runs us
  return script !== undefined && /\.c?js$/.test(script) ? [process.execPath, script] : ['npm'];
}

function run(root, [command, ...first], rest) {
  const result = spawnSync(command, [...first, ...rest], { cwd: root, stdio: ['ignore', 2, 2] });
  if (result.error) throw result.error;
  if (result.status !== 0) throw new Error(`${[command, ...first, ...rest].join(' ')} failed`);
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
