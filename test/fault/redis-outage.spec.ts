import { afterEach, describe, expect, it } from '@jest/globals';
import { isFrozen } from '../support/process-state';
import { type RedisServer, waitUntil } from '../support/redis-server';
import { checkRedisFault, FaultWorld, type RedisFaultCase } from './redis-fault-check';

const DEADLINE_MS = 10_000;

const CASES: readonly RedisFaultCase[] = [
  {
    name: 'is stopped, and started again with its data',
    isAnotherRedis: true,
    options: { appendOnly: true },
    begin: (redis) => redis.kill(),
    proof: (redis) => expect(redis.cli('PING')).rejects.toThrow(),
    end: (redis) => redis.restart(),
    faults: ['CONNECTION'],
    retryable: true,
  },
  {
    name: 'is frozen (SIGSTOP)',
    begin: async (redis) => redis.freeze(),
    proof: (redis) => waitUntil('frozen', DEADLINE_MS, () => isFrozen(redis.pid)),
    end: async (redis) => redis.thaw(),
    faults: ['TIMEOUT', 'CONNECTION'],
    retryable: true,
  },
  {
    name: 'is restarted empty',
    begin: (redis) => redis.kill(),
    proof: (redis) => expect(redis.cli('PING')).rejects.toThrow(),
    end: (redis) => redis.restart({ wipe: true }),
    faults: ['CONNECTION'],
    retryable: true,
    losesData: true,
  },
  {
    name: 'loads',
    options: { config: ['save 3600 1', 'loading-process-events-interval-bytes 1024'] },
    prepare: async (redis) => {
      await redis.cli('DEBUG', 'POPULATE', '20000', 'ballast', '500');
    },
    begin: async (redis) => {
      await redis.cli('CONFIG', 'SET', 'key-load-delay', '1000');
      // Loads what was saved, for 20 s unless it is told to hurry; its own connection is answered at the end.
      redis.cli('DEBUG', 'RELOAD').catch(() => undefined);
      await waitUntil('loading', DEADLINE_MS, () => isLoading(redis));
    },
    proof: async (redis) => expect(await isLoading(redis)).toBe(true),
    end: async (redis) => {
      await redis.cli('CONFIG', 'SET', 'key-load-delay', '0');
      await waitUntil('loaded', DEADLINE_MS, async () => !(await isLoading(redis)));
    },
    faults: ['LOADING'],
    retryable: true,
  },
];

async function isLoading(redis: RedisServer): Promise<boolean> {
  return String(await redis.cli('INFO', 'persistence')).includes('loading:1');
}

describe('a coordinator whose Redis', () => {
  let world = new FaultWorld();
  afterEach(async () => {
    await world.close();
    world = new FaultWorld();
  });

  it.each(CASES)('$name: refuses with a typed error, is not ready, and goes on by itself', async (fault) => {
    await checkRedisFault(world, fault);
  });
});
