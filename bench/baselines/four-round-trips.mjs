/**
 * Baseline of the changing heartbeat: a section of four round trips for each one: take a Redis lock, load the aggregate, save
 * it, release the lock. The aggregate, its JSON and its size are the same; deciding is left out, so that it costs nothing here.
 *
 * Two settings; the better one counts. POLLING takes the lock by trying again after a short random pause, as several processes
 * have to. QUEUED lets the heartbeats of this process wait in line instead, so that nothing is ever tried in vain.
 */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

const LOCK_TTL_MS = 5_000;
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 8;
const UNLOCK = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

export const SETTINGS = ['POLLING', 'QUEUED'];

export async function startFourRoundTrips(url, { metadataKey, lockKey, setting }) {
  const client = new Redis(url);
  client.defineCommand('unlock', { numberOfKeys: 1, lua: UNLOCK });
  await client.ping();

  async function lock(token) {
    for (let attempt = 0; ; attempt += 1) {
      if ((await client.set(lockKey, token, 'PX', LOCK_TTL_MS, 'NX')) === 'OK') return;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempt, MAX_PAUSE_MS) * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async function sectionOf(memberId, maxConcurrency) {
    const token = randomUUID();
    await lock(token);
    const aggregate = JSON.parse(await client.hget(metadataKey, 'aggregate'));
    const member = aggregate.members.find((one) => one.memberId === memberId);
    member.maxConcurrency = maxConcurrency;
    aggregate.storeRevision += 1;
    await client.hset(metadataKey, 'aggregate', JSON.stringify(aggregate), `lease:${memberId}`, Date.now());
    await client.unlock(lockKey, token);
  }

  let tail = Promise.resolve();
  const queued = (memberId, maxConcurrency) => {
    const mine = tail.then(() => sectionOf(memberId, maxConcurrency));
    tail = mine;
    return mine;
  };
  return {
    change: setting === 'QUEUED' ? queued : sectionOf,
    stop: () => client.disconnect(),
  };
}
