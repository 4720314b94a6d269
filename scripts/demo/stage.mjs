// What the demo plays on: a Redis, a coordinator on it, and a stream.
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureRedisServer } from '../ensure-redis.mjs';
import { freePort, until } from './troupe.mjs';

const START_DEADLINE_MS = 60_000;
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Short leases, so that a death is noticed within seconds. */
const TIMING = {
  COORD_HEARTBEAT_INTERVAL_MS: '500',
  COORD_MEMBER_LEASE_TTL_MS: '5000',
  COORD_REBALANCE_TIMEOUT_MS: '10000',
  COORD_TICK_INTERVAL_MS: '100',
  COORD_LOCK_TTL_MS: '2000',
  COORD_ROUTING_REFRESH_MS: '1000',
  COORD_ROUTING_LEASE_MS: '30000',
};

/** REDIS_URL, or a server of our own that is gone with the demo. */
export async function openRedis(troupe) {
  const given = process.env.REDIS_URL;
  if (given) return { url: given, isOurs: false };
  const binary = ensureRedisServer();
  const port = await freePort();
  const options = [
    '--port',
    port,
    '--bind',
    '127.0.0.1',
    '--dir',
    troupe.folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const server = troupe.start('redis', binary, [...options.map(String), '--maxmemory-policy', 'noeviction']);
  await until('Redis answers', START_DEADLINE_MS, () => accepts(port), server);
  return { url: `redis://127.0.0.1:${port}`, isOurs: true };
}

export class Coordinator {
  #troupe;
  #redisUrl;
  #keyPrefix;
  #port;
  #lives = 0;
  #member = null;

  constructor(troupe, redisUrl, keyPrefix, port) {
    this.#troupe = troupe;
    this.#redisUrl = redisUrl;
    this.#keyPrefix = keyPrefix;
    this.#port = port;
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start() {
    this.#lives += 1;
    const name = `coordinator-${this.#lives}`;
    const environment = {
      ...TIMING,
      HOST: '127.0.0.1',
      PORT: String(this.#port),
      REDIS_URL: this.#redisUrl,
      COORD_ID: name,
      COORD_KEY_PREFIX: this.#keyPrefix,
      LOG_LEVEL: 'warn',
    };
    this.#member = this.#troupe.start(name, process.execPath, [MAIN], { environment });
    await until('the coordinator is ready', START_DEADLINE_MS, () => isReady(this.url), this.#member);
  }

  async stop() {
    return this.#troupe.stop(this.#member);
  }
}

export function logFileOf(troupe, name) {
  return join(troupe.folder, `${name}.jsonl`);
}

async function isReady(url) {
  try {
    return (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

async function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const settle = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('error', () => settle(false));
    socket.once('connect', () => settle(true));
  });
}
