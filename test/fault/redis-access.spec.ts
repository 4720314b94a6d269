import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type CoordinatorProcess,
  PROCESS_TIMING,
  spawnCoordinator,
  startCoordinatorProcess,
} from '../support/coordinator-process';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { groupKeyOf, storedMembers } from '../support/stored-group';
import { repeatedLines } from './log-lines';
import { isTypedError } from './member-traffic';
import { PROMISED_MS } from './redis-fault-check';

const START_DEADLINE_MS = 30_000;
/** Every character that means something in a URL, and those of a shell and of redis.conf. */
const RESERVED = 'p@ss:w/o#r?d%41&=+ []{}|\\^`<>"\'$;,!*()~é';
const key = groupKeyOf('orders', 'billing');

describe('a coordinator that logs in to Redis', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorProcess;
  afterEach(async () => {
    await coordinator.stop();
    await redis.stop();
  });

  const authority = (password: string): string => `redis://:${password}@127.0.0.1:${redis.port}`;
  const everythingSaid = (): string => JSON.stringify(coordinator.log) + coordinator.stderr;

  it('starts with a wrong password, says so, and goes on when the password is right', async () => {
    redis = await startRedisServer({ password: 'right-one' });
    coordinator = await startCoordinatorProcess(authority('wrong-one'));
    await waitUntil('readiness names the password', START_DEADLINE_MS, async () => {
      const { status, body } = await coordinator.readiness();
      return status === 503 && JSON.stringify(body).includes('NOT_AUTHENTICATED');
    });
    const sentMs = performance.now();
    const refused = await coordinator.heartbeat(key, 'm1');
    expect(performance.now() - sentMs).toBeLessThan(PROMISED_MS);
    expect(isTypedError(refused)).toBe(true);
    expect(refused.body).toMatchObject({ errorCode: 'METADATA_STORE_UNAVAILABLE', retryable: false });
    expect((await coordinator.call('GET', '/health/live')).status).toBe(200);

    await redis.cli('CONFIG', 'SET', 'requirepass', 'wrong-one');
    await coordinator.waitForReadiness(200, PROMISED_MS);
    await coordinator.createGroup(key);
    await waitUntil('joined', PROCESS_TIMING.leaseTtlMs + PROMISED_MS, async () => {
      return (await coordinator.heartbeat(key, 'm1')).status === 200;
    });
    expect(everythingSaid()).toContain('NOT_AUTHENTICATED');
    expect(everythingSaid()).not.toMatch(/wrong-one|right-one/);
    expect(repeatedLines(coordinator.log)).toEqual([]);
  });

  it('starts while Redis is away, and goes on when it is there', async () => {
    redis = await startRedisServer();
    await redis.kill();
    coordinator = await startCoordinatorProcess(redis.url);
    expect((await coordinator.readiness()).status).toBe(503);
    expect((await coordinator.call('GET', '/health/live')).status).toBe(200);
    expect(isTypedError(await coordinator.heartbeat(key, 'm1'))).toBe(true);
    await redis.restart();
    await coordinator.waitForReadiness(200, PROMISED_MS);
    await coordinator.createGroup(key);
    expect(await storedMembers(redis, key)).toEqual([]);
    expect(repeatedLines(coordinator.log)).toEqual([]);
  });

  it('takes a password of reserved characters, percent-encoded', async () => {
    redis = await startRedisServer({ password: RESERVED });
    expect(await redis.cli('PING')).toBe('PONG');
    coordinator = await startCoordinatorProcess(authority(encodeURIComponent(RESERVED)));
    await coordinator.waitForReadiness(200);
    await coordinator.createGroup(key);
    expect(await storedMembers(redis, key)).toEqual([]);
  });

  it('refuses the same password as it is, before anything else, and explains without showing it', async () => {
    redis = await startRedisServer({ password: RESERVED });
    coordinator = spawnCoordinator(authority(RESERVED));
    expect(await coordinator.ended(START_DEADLINE_MS)).toMatchObject({ code: 1 });
    expect(coordinator.stderr).toMatch(/REDIS_URL .*percent-encode/);
    expect(coordinator.stderr).not.toContain('p@ss');
    expect(coordinator.log).toEqual([]);
  });
});
