import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type CoordinatorProcess,
  spawnCoordinator,
  startCoordinatorProcess,
} from '../support/coordinator-process';
import { type RedisServer, startRedisServer } from '../support/redis-server';

describe('the coordinator as a process', () => {
  const coordinators: CoordinatorProcess[] = [];
  const servers: RedisServer[] = [];

  afterEach(async () => {
    for (const coordinator of coordinators.splice(0)) await coordinator.stop();
    for (const server of servers.splice(0)) await server.stop();
  });

  const startRedis = async (): Promise<RedisServer> => {
    const server = await startRedisServer();
    servers.push(server);
    return server;
  };

  it('does not start with wrong options: it lists all faults, shows no secret, and exits with 1', async () => {
    const coordinator = spawnCoordinator('redis://:geheim@wort@127.0.0.1:6379', {
      COORD_LOCK_TTL_MS: '1e3',
      HOST: '0.0.0.0',
      COORD_HEARTBEAT_INTERVAL_MS: '5000',
    });
    coordinators.push(coordinator);
    const end = await coordinator.ended(30_000);
    expect(end).toMatchObject({ code: 1, signal: null });
    for (const fault of [
      'COORD_LOCK_TTL_MS must',
      '3 x COORD_HEARTBEAT_INTERVAL_MS',
      'AUTH=disabled',
      'REDIS_URL is refused',
    ]) {
      expect(coordinator.stderr).toContain(fault);
    }
    expect(coordinator.stderr).not.toMatch(/geheim|wort/);
    expect(coordinator.log).toEqual([]);
  });

  it('does not start on a node of a Redis cluster, and says so', async () => {
    const redis = await startRedisServer({ config: ['cluster-enabled yes'] });
    servers.push(redis);
    const coordinator = spawnCoordinator(redis.url);
    coordinators.push(coordinator);
    expect(await coordinator.ended(30_000)).toMatchObject({ code: 1 });
    expect(coordinator.stderr).toContain('REDIS_URL names a node of a Redis cluster');
  });

  it('does not start on a port that is taken', async () => {
    const redis = await startRedis();
    const first = await startCoordinatorProcess(redis.url);
    coordinators.push(first);
    const second = spawnCoordinator(redis.url, { PORT: new URL(first.baseUrl).port });
    coordinators.push(second);
    expect(await second.ended(30_000)).toMatchObject({ code: 1 });
    expect(second.stderr).toContain('EADDRINUSE');
  });

  it('says aloud at start that whoever reaches it may do everything', async () => {
    const redis = await startRedis();
    const coordinator = await startCoordinatorProcess(redis.url, { HOST: '0.0.0.0', AUTH: 'disabled' });
    coordinators.push(coordinator);
    const warnings = coordinator.log.filter((line) => line['level'] === 'warn');
    expect(warnings.map((line) => line['message'])).toContainEqual(expect.stringContaining('AUTH=disabled'));
  });

  it('starts without Redis, alive but not ready, and is ready once Redis is there', async () => {
    const redis = await startRedis();
    await redis.kill();
    const coordinator = await startCoordinatorProcess(redis.url);
    coordinators.push(coordinator);
    expect((await coordinator.call('GET', '/health/live')).status).toBe(200);
    expect((await coordinator.readiness()).status).toBe(503);
    const group = { streamPrefix: 's', consumerGroup: 'g' };
    expect(await coordinator.heartbeat(group, 'm1')).toMatchObject({
      status: 503,
      body: { errorCode: 'METADATA_STORE_UNAVAILABLE', retryable: true },
    });
    await redis.restart();
    await coordinator.waitForReadiness(200);
    await coordinator.createGroup(group);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'ends itself by %s when it has nothing to do, long before its grace period',
    async (signal) => {
      const redis = await startRedis();
      const coordinator = await startCoordinatorProcess(redis.url, { SHUTDOWN_GRACE_MS: '60000' });
      coordinators.push(coordinator);
      process.kill(coordinator.pid, signal);
      expect(await coordinator.ended()).toMatchObject({ signal });
      expect(coordinator.log.map((line) => line['message'])).toContain('stopping');
    },
  );
});
