import { afterEach, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { checkRedisFault, FaultWorld, type RedisFaultCase } from './redis-fault-check';

const DEADLINE_MS = 10_000;
const ADMIN = { username: 'admin', password: 'of-the-test' };
const ACL = {
  acl: [
    'user default off',
    'user admin on >of-the-test ~* &* +@all',
    'user coordinator on >secret ~* &* +@all',
  ],
  adminUser: ADMIN,
};
const asCoordinator = ({ port }: RedisServer): string => `redis://coordinator:secret@127.0.0.1:${port}`;

/** Takes the right to some commands away from the coordinator, while it runs, and gives it back. */
function withoutCommands(name: string, ...commands: readonly string[]): RedisFaultCase {
  const set = async (redis: RedisServer, sign: '-' | '+'): Promise<void> => {
    await redis.cli('ACL', 'SETUSER', 'coordinator', ...commands.map((command) => `${sign}${command}`));
  };
  return {
    name,
    options: ACL,
    url: asCoordinator,
    begin: (redis) => set(redis, '-'),
    proof: async (redis) => {
      const isAllowed = redis.cli('ACL', 'DRYRUN', 'coordinator', ...PROOFS[commands[0] ?? '']!);
      expect(String(await isAllowed)).toMatch(/no permissions/);
    },
    end: (redis) => set(redis, '+'),
    faults: ['NOT_PERMITTED'],
    retryable: false,
  };
}

const PROOFS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  eval: ['EVAL', 'return 1', '0'],
  hset: ['HSET', 'key', 'field', 'value'],
};

let other: RedisServer | null = null;

const READ_ONLY: RedisFaultCase = {
  name: 'becomes a read-only replica, and master again',
  isAnotherRedis: true,
  // A failover and its way back: the other one has had a copy all the time.
  prepare: async (redis) => {
    other = await startRedisServer({ replicaOf: { port: redis.port } });
    const replica = other;
    await waitUntil('replicating', DEADLINE_MS, () => isLinked(replica));
  },
  begin: async (redis) => {
    await other!.cli('REPLICAOF', 'NO', 'ONE');
    await redis.cli('REPLICAOF', '127.0.0.1', other!.port);
  },
  proof: async (redis) => {
    await waitUntil('a replica', DEADLINE_MS, () => isLinked(redis));
    await expect(redis.cli('SET', 'key', 'value')).rejects.toThrow(/READONLY/);
  },
  end: async (redis) => {
    await redis.cli('REPLICAOF', 'NO', 'ONE');
  },
  faults: ['READ_ONLY'],
  retryable: true,
};

async function isLinked(redis: RedisServer): Promise<boolean> {
  return String(await redis.cli('INFO', 'replication')).includes('master_link_status:up');
}

const OUT_OF_MEMORY: RedisFaultCase = {
  name: 'is out of memory',
  begin: async (redis) => {
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
  },
  proof: (redis) => expect(redis.cli('SET', 'key', 'value')).rejects.toThrow(/OOM/),
  end: async (redis) => {
    await redis.cli('CONFIG', 'SET', 'maxmemory', '0');
  },
  faults: ['OUT_OF_MEMORY'],
  retryable: true,
};

const PASSWORD_CHANGED: RedisFaultCase = {
  name: 'changes its password and cuts connections',
  options: ACL,
  url: asCoordinator,
  begin: async (redis) => {
    await redis.cli('ACL', 'SETUSER', 'coordinator', 'resetpass', '>changed');
    await redis.cli('CLIENT', 'KILL', 'USER', 'coordinator');
  },
  proof: (redis) => expect(redis.cli('AUTH', 'coordinator', 'secret')).rejects.toThrow(/WRONGPASS/),
  end: async (redis) => {
    await redis.cli('ACL', 'SETUSER', 'coordinator', 'resetpass', '>secret');
  },
  faults: ['NOT_AUTHENTICATED'],
  retryable: false,
};

const CASES: readonly RedisFaultCase[] = [
  READ_ONLY,
  OUT_OF_MEMORY,
  withoutCommands('forbids scripts', 'eval', 'evalsha'),
  withoutCommands('forbids one command', 'hset'),
  PASSWORD_CHANGED,
];

describe('a coordinator whose Redis', () => {
  let world = new FaultWorld();
  afterEach(async () => {
    await world.close();
    await other?.stop();
    other = null;
    world = new FaultWorld();
  });

  it.each(CASES)('$name: refuses with a typed error, is not ready, and goes on by itself', async (fault) => {
    await checkRedisFault(world, fault);
  });
});
