import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number };

// eslint-disable-next-line @typescript-eslint/no-require-imports -- jest loads its reporters as CommonJS
const { countsOf, closingLine } = require('../support/closing-line-reporter.js') as {
  readonly countsOf: (results: Readonly<Record<string, number>>) => Counts;
  readonly closingLine: (counts: Counts) => string;
};

const ensureRedis = join(__dirname, '..', '..', 'scripts', 'ensure-redis.mjs');

describe('the closing line of a test run', () => {
  const results = {
    numPassedTests: 12,
    numFailedTests: 1,
    numPendingTests: 2,
    numTodoTests: 1,
    numRuntimeErrorTestSuites: 0,
  };

  it('counts passed, failed and skipped tests', () => {
    expect(closingLine(countsOf(results))).toBe('tests: 12 passed, 1 failed, 3 skipped');
  });

  it('counts a suite that could not run as a failure', () => {
    const broken = { ...results, numFailedTests: 0, numRuntimeErrorTestSuites: 1 };
    expect(countsOf(broken).failed).toBe(1);
  });
});

describe('the search for a Redis server', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'redis-search-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const plantBinary = (name: string, mode = 0o755): string => {
    const path = join(folder, name);
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, mode);
    return path;
  };

  const search = (environment: Readonly<Record<string, string>>) =>
    spawnSync(process.execPath, [ensureRedis], { env: { PATH: folder, ...environment }, encoding: 'utf8' });

  it('takes the server that is named', () => {
    plantBinary('redis-server');
    const named = plantBinary('my-redis');
    expect(search({ REDIS_SERVER_BIN: named }).stdout.trim()).toBe(named);
  });

  it('refuses a named server that cannot be run, instead of taking another', () => {
    plantBinary('redis-server');
    const named = plantBinary('my-redis', 0o644);
    const result = search({ REDIS_SERVER_BIN: named });
    expect(result.status).toBe(1);
    expect(result.stdout).toBe('');
    expect(result.stderr).toContain(named);
  });

  it('prefers redis-server to valkey-server, wherever they lie on the PATH', () => {
    const valkey = plantBinary('valkey-server');
    expect(search({}).stdout.trim()).toBe(valkey);
    const redis = plantBinary('redis-server');
    expect(search({ PATH: ['/nonexistent', folder].join(delimiter) }).stdout.trim()).toBe(redis);
  });
});
