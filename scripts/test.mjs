// Runs the tests: gets a Redis server binary, builds dist (some tests spawn `node dist/main.js`), runs jest with the
// arguments given, and prints `tests: N passed, N failed, N skipped` as the very last line.
// SKIP_BUILD=1 leaves dist as it is.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureRedisServer } from './ensure-redis.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { closingLine } = createRequire(import.meta.url)('../test/support/closing-line-reporter.js');

process.exitCode = await main(process.argv.slice(2));

async function main(jestArguments) {
  const scratch = mkdtempSync(join(tmpdir(), 'redis-stream-coordinator-test-'));
  try {
    return await runAll(jestArguments, join(scratch, 'counts.json'));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return close({ passed: 0, failed: 1, skipped: 0 }, 1);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function runAll(jestArguments, countsFile) {
  const redisServer = ensureRedisServer();
  if (process.env.SKIP_BUILD !== '1' && existsSync(join(root, 'src'))) {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    if ((await run([tsc, '-p', 'tsconfig.build.json'], {})) !== 0) {
      throw new Error('The build failed: no test was run.');
    }
  }
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const code = await run([jest, ...jestArguments], {
    REDIS_SERVER_BIN: redisServer,
    TEST_COUNTS_FILE: countsFile,
  });
  return close(readCounts(countsFile), code);
}

/** A run without counts, and a run that jest refused without a failed test, both count as one failure. */
function close(counts, code) {
  const failed = code !== 0 && counts.failed === 0 ? 1 : counts.failed;
  console.log(closingLine({ ...counts, failed }));
  return failed > 0 ? code || 1 : code;
}

function readCounts(file) {
  if (!existsSync(file)) {
    console.error('jest ended without a result.');
    return { passed: 0, failed: 1, skipped: 0 };
  }
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Signals reach the child as well (same terminal, or forwarded), so an interrupted run still closes with its line. */
function run(nodeArguments, environment) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, nodeArguments, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environment },
    });
    const forward = (signal) => child.kill(signal);
    process.on('SIGTERM', forward);
    process.on('SIGINT', forward);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      process.off('SIGTERM', forward);
      process.off('SIGINT', forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}
