import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { redisAccess, type RedisAccess } from '../contract/redis-harness';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

const COMMAND_TIMEOUT_MS = 300;
const RECOVERY_MS = 5_000;
/** The driver starts its timers anew at each command; all that a lost connection left behind are over after this. */
const AFTERMATH_MS = 4 * COMMAND_TIMEOUT_MS;
const COMMAND_INTERVAL_MS = 10;
const anything = (): boolean => true;

describe('a connection to Redis', () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  let access: RedisAccess;
  let answers = 0;
  let losses = 0;
  let load: NodeJS.Timeout;

  beforeEach(async () => {
    redis = await startRedisServer();
    proxy = await startTcpProxy(redis.port);
    access = await redisAccess(proxy.url, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
    answers = 0;
    losses = 0;
    access.client.on('close', () => (losses += 1));
    // Commands are under way at any time, as in a coordinator.
    load = setInterval(() => {
      access.commands.call('load', 'INCR', 'counter').then(
        () => (answers += 1),
        () => undefined,
      );
    }, COMMAND_INTERVAL_MS);
  });
  afterEach(async () => {
    clearInterval(load);
    access.close();
    await proxy.close();
    await redis.stop();
  });

  async function answersAgain(): Promise<void> {
    const before = answers;
    await waitUntil('Redis answers', RECOVERY_MS, () => answers > before);
  }

  it('is made again after one that was lost before its first answer', async () => {
    await answersAgain();
    proxy.cut();
    // The next one opens, asks, and is gone.
    proxy.hold('ANSWER', anything, () => proxy.cut());
    await waitUntil('lost twice', RECOVERY_MS, () => losses >= 2);
    await answersAgain();
  });

  it('is not blamed for the silence of the one before', async () => {
    await answersAgain();
    proxy.hold('ANSWER', anything);
    await waitUntil('commands are under way', RECOVERY_MS, () => proxy.isHolding);
    proxy.cut();
    const cutMs = performance.now();
    await answersAgain();
    await waitUntil('the aftermath is over', RECOVERY_MS, () => performance.now() - cutMs > AFTERMATH_MS);
    expect(losses).toBe(1);
    await answersAgain();
  });

  it('is replaced when it stays silent', async () => {
    await answersAgain();
    proxy.hold('ANSWER', anything);
    await waitUntil('silent', RECOVERY_MS, () => proxy.isHolding);
    await waitUntil('replaced', RECOVERY_MS, () => losses >= 1);
    await answersAgain();
    expect(losses).toBe(1);
  });
});
