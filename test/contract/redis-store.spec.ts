import { startRedisServer, type RedisServer } from '../support/redis-server';
import { describeStoreContract } from './metadata-store.contract';
import { redisHarness } from './redis-harness';

let server: RedisServer | null = null;

describeStoreContract('the Redis adapters', {
  start: async () => {
    server = await startRedisServer();
  },
  stop: async () => server?.stop(),
  newHarness: async () => {
    if (server === null) throw new Error('the server was not started');
    return redisHarness(server);
  },
});
