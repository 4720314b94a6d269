import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ShutdownGate } from '../../src/critical-section/shutdown-gate';
import { type CoordinatorApp, errorOf, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

const BY = { requestedBy: 'test', reason: 'termination' };
const GROUP = '/coord/v1/streams/orders/groups/workers';

describe('a coordinator that terminates, before its listener closes', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
    expect((await coordinator.call('POST', GROUP, { ...BY, initialShardCount: 2 })).status).toBe(201);
    expect((await coordinator.call('GET', '/health/ready')).status).toBe(200);
    coordinator.app.get(ShutdownGate).close();
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  it('is not ready at once, but alive', async () => {
    expect((await coordinator.call('GET', '/health/ready')).status).toBe(503);
    expect((await coordinator.call('GET', '/health/live')).status).toBe(200);
  });

  it('refuses what would change something: 503 COORDINATOR_TERMINATING, retryable', async () => {
    const joined = await coordinator.call('POST', `${GROUP}/members/m1/heartbeat`, heartbeatOf('m1'));
    expect(joined.status).toBe(503);
    expect(errorOf(joined)).toMatchObject({ errorCode: 'COORDINATOR_TERMINATING', retryable: true });
    const deleted = await coordinator.call('DELETE', GROUP, { ...BY, force: true });
    expect(errorOf(deleted)).toMatchObject({ errorCode: 'COORDINATOR_TERMINATING', retryable: true });
  });

  it('answers reads', async () => {
    for (const path of [GROUP, `${GROUP}/producer-routing`, '/coord/v1/monitoring/groups', '/metrics'])
      expect((await coordinator.call('GET', path)).status).toBe(200);
  });
});
