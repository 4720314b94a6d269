import { afterEach, describe, expect, it } from '@jest/globals';
import { RedisProbe } from '../../src/health/redis-probe';
import { type Answer, type CoordinatorApp, startCoordinatorApp } from '../support/coordinator-app';
import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
  waitUntil,
} from '../support/redis-server';

/** Of the contract: readiness turns within this time after a fault, and after its end. */
const TURN_MS = 2_000;

describe('health', () => {
  const servers: RedisServer[] = [];
  let coordinator: CoordinatorApp | null = null;

  afterEach(async () => {
    for (const server of servers) server.thaw();
    await coordinator?.close();
    coordinator = null;
    for (const server of servers.splice(0)) await server.stop();
  });

  const startRedis = async (options: RedisServerOptions = {}): Promise<RedisServer> => {
    const server = await startRedisServer(options);
    servers.push(server);
    return server;
  };
  const start = async (redis: RedisServer, environment = {}): Promise<CoordinatorApp> => {
    coordinator = await startCoordinatorApp(redis.url, environment);
    return coordinator;
  };
  const ready = (app: CoordinatorApp): Promise<Answer> => app.call('GET', '/health/ready');
  const turns = (app: CoordinatorApp, status: number): Promise<void> =>
    waitUntil(`readiness ${status}`, TURN_MS, async () => (await ready(app)).status === status);

  /** Liveness up and readiness down within its time, with the kind of fault; then up again within its time. */
  const expectTurns = async (app: CoordinatorApp, fault: RegExp, repair: () => unknown): Promise<void> => {
    await turns(app, 503);
    expect(await app.call('GET', '/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    const { body } = await ready(app);
    expect((body as { error: { redis: { fault: string } } }).error.redis.fault).toMatch(fault);
    expect(await app.call('GET', '/coord/v1/monitoring/health')).toMatchObject({
      status: 200,
      body: { status: 'DOWN' },
    });
    await repair();
    await turns(app, 200);
  };

  it('is ready with a Redis that takes a write and gives it back', async () => {
    const app = await start(await startRedis());
    expect(await ready(app)).toMatchObject({
      status: 200,
      body: { status: 'ok', details: { redis: { status: 'up' } } },
    });
  });

  it('is not ready while Redis is full, although it answers PING', async () => {
    const redis = await startRedis();
    const app = await start(redis);
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
    expect(await redis.cli('PING')).toBe('PONG');
    await expectTurns(app, /OUT_OF_MEMORY/, () => redis.cli('CONFIG', 'SET', 'maxmemory', '0'));
  });

  it('is not ready while Redis is a read-only replica', async () => {
    const redis = await startRedis();
    const app = await start(redis);
    const master = await startRedis();
    await redis.cli('REPLICAOF', '127.0.0.1', master.port);
    await expectTurns(app, /READ_ONLY|LOADING/, () => redis.cli('REPLICAOF', 'NO', 'ONE'));
  });

  it('is not ready while Redis is frozen', async () => {
    const redis = await startRedis();
    const app = await start(redis);
    redis.freeze();
    await expectTurns(app, /TIMEOUT|CONNECTION/, () => redis.thaw());
  });

  it('is not ready while Redis is gone', async () => {
    const redis = await startRedis();
    const app = await start(redis);
    await redis.kill();
    await expectTurns(app, /CONNECTION/, () => redis.restart());
  });

  it('is DEGRADED when the ACL lacks a command, which it names', async () => {
    const admin = { username: 'admin', password: 'admin' };
    const acl = ['user admin on >admin ~* &* +@all', 'user default on nopass ~* &* +@all -publish'];
    const app = await start(await startRedis({ acl, adminUser: admin }));
    expect(await ready(app)).toMatchObject({ status: 200 });
    expect((await app.call('GET', '/coord/v1/monitoring/health')).body).toMatchObject({
      status: 'DEGRADED',
      redis: { isReady: true, missingCommands: ['PUBLISH'] },
    });
    expect(app.log.filter((line) => line['context'] === 'Permissions')).toMatchObject([
      { level: 'error', missing: ['PUBLISH'] },
    ]);
  });

  it('asks Redis once for probes that come at the same time', async () => {
    const redis = await startRedis();
    const app = await start(redis, { COORD_TICK_INTERVAL_MS: '60000' });
    const count = async (): Promise<number> => {
      const stats = String(await redis.cli('INFO', 'commandstats'));
      return Number(/cmdstat_set:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    const before = await count();
    // Not over HTTP: whether requests come at once there is up to the machine.
    const probe = app.app.get(RedisProbe);
    const probes = Array.from({ length: 20 }, () => probe.probe());
    expect(new Set(probes).size).toBe(1);
    await Promise.all(probes);
    expect((await count()) - before).toBeLessThan(10);
  });
});
