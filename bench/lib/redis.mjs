/**
 * The Redis of a benchmark: REDIS_URL if set, else a server of its own on a free port, without persistence (writing to disk
 * would measure the disk). Names of a run begin with `namespace`, so that a Redis that is shared is left as it was found.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ensureRedisServer } from '../../scripts/ensure-redis.mjs';
import { freePort, startProgram, waitUntil } from './processes.mjs';

const START_DEADLINE_MS = 10_000;
const SCAN_COUNT = 1_000;

export async function startRedis() {
  const namespace = `bench-${randomBytes(4).toString('hex')}`;
  const own = process.env.REDIS_URL === undefined ? await startServer() : null;
  const url = own?.url ?? process.env.REDIS_URL;
  const client = new Redis(url);
  return {
    url,
    /** Of our own server; null for REDIS_URL. */
    pid: own?.pid ?? null,
    client,
    namespace,
    keyPrefix: `${namespace}:coord`,
    stop: async () => {
      if (own === null) await removeKeys(client, namespace);
      client.disconnect();
      await own?.stop();
    },
  };
}

async function startServer() {
  const binary = ensureRedisServer();
  const folder = mkdtempSync(join(tmpdir(), 'redis-bench-'));
  const port = await freePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
  const inMemory = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'];
  const program = startProgram(binary, [...settings, ...inMemory], {});
  const url = `redis://127.0.0.1:${port}`;
  await waitUntil('redis-server is ready', START_DEADLINE_MS, () => {
    if (program.hasEnded()) throw new Error(`redis-server ended: ${program.output()}`);
    return program.output().includes('Ready to accept connections');
  });
  return {
    url,
    pid: program.pid,
    stop: async () => {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function removeKeys(client, namespace) {
  for (const pattern of [`${namespace}*`, `{${namespace}*`]) {
    for await (const keys of client.scanStream({ match: pattern, count: SCAN_COUNT })) {
      if (keys.length > 0) await client.unlink(...keys);
    }
  }
}

/** Calls per command so far, by lower-case name, over all clients; commands that a script runs inside are counted too. */
export async function commandCalls(client) {
  const info = await client.info('commandstats');
  const calls = new Map();
  for (const [, name, count] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm))
    calls.set(name, Number(count));
  return calls;
}

/** Calls of the named commands between two readings of `commandCalls`. */
export function callsBetween(before, after, names) {
  return names.reduce((sum, name) => sum + (after.get(name) ?? 0) - (before.get(name) ?? 0), 0);
}

/**
 * Every command that reaches Redis while `during` runs, as MONITOR shows it, without what scripts run inside and without our
 * own client's. `onCommand({ atMs, address, args })` is called as they come; `atMs` is performance.now() of this process.
 */
export async function monitored(redis, onCommand, during) {
  const monitor = await redis.client.monitor(); // on a connection of its own
  const own = new Set();
  for (const line of String(await redis.client.client('LIST')).split('\n')) {
    if (/ cmd=(client\|list|monitor) /.test(line)) own.add(/ addr=(\S+)/.exec(line)?.[1]);
  }
  monitor.on('monitor', (_time, args, source) => {
    if (source === 'lua' || own.has(source)) return;
    onCommand({ atMs: performance.now(), address: source, args });
  });
  try {
    return await during();
  } finally {
    monitor.disconnect();
  }
}
