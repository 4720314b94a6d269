import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  answerOf,
  type CoordinatorProcess,
  PROCESS_TIMING,
  startCoordinatorProcess,
} from '../support/coordinator-process';
import { isFrozen } from '../support/process-state';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { groupKeyOf, STORED_KEYS, storedEpoch, storedMembers } from '../support/stored-group';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { isTypedError } from './member-traffic';
import { isCommit, isLock } from './section-calls';

const DEADLINE_MS = 10_000;
/** How soon after the death of a coordinator another one goes on, behind its lock's time to live. */
const TAKEOVER_MARGIN_MS = 500;
/** No lease runs out while a test looks at sections. */
const LONG_LEASES = { COORD_MEMBER_LEASE_TTL_MS: '20000', COORD_REBALANCE_TIMEOUT_MS: '20000' };
const key = groupKeyOf('orders', 'billing');

describe('two coordinators, of which one fails inside a section', () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  let failing: CoordinatorProcess;
  let other: CoordinatorProcess;

  beforeEach(async () => {
    redis = await startRedisServer();
    proxy = await startTcpProxy(redis.port);
    [failing, other] = await Promise.all([
      startCoordinatorProcess(proxy.url, LONG_LEASES),
      startCoordinatorProcess(redis.url, LONG_LEASES),
    ]);
    await Promise.all([failing.waitForReadiness(200), other.waitForReadiness(200)]);
    await failing.createGroup(key);
  });
  afterEach(async () => {
    await failing.stop();
    await other.stop();
    await proxy.close();
    await redis.stop();
  });

  const joinAt = (coordinator: CoordinatorProcess, memberId: string) =>
    coordinator.heartbeat(key, memberId, { instanceId: `tenure-of-${memberId}` });

  /** Repeats the join until it is answered OK; the epoch. */
  async function joined(coordinator: CoordinatorProcess, memberId: string): Promise<number> {
    let epoch = 0;
    await waitUntil(`${memberId} has joined`, DEADLINE_MS, async () => {
      const answer = await joinAt(coordinator, memberId);
      if (answer.status === 200) epoch = answerOf(answer).memberEpoch;
      return epoch > 0;
    });
    return epoch;
  }

  const isLocked = async (): Promise<boolean> => Number(await redis.cli('PTTL', STORED_KEYS.lock(key))) > 0;

  it('SIGKILL before the write: the other goes on behind the lock, and the write that comes late is refused', async () => {
    let killedMs = 0;
    proxy.hold('REQUEST', isCommit, () => {
      killedMs = performance.now();
      failing.kill().catch(() => undefined);
    });
    const lost = joinAt(failing, 'm1').catch(() => null);
    await waitUntil('killed', DEADLINE_MS, () => killedMs > 0 && failing.end !== null);
    expect(failing.end).toMatchObject({ signal: 'SIGKILL' });
    expect(await lost).toBeNull();
    expect(await isLocked()).toBe(true);

    const epoch = await joined(other, 'm2');
    expect(performance.now() - killedMs).toBeLessThan(PROCESS_TIMING.lockTtlMs + TAKEOVER_MARGIN_MS);
    expect(await storedMembers(redis, key)).toEqual(['m2']);

    const answer = proxy.deliver();
    await waitUntil('Redis has answered the late write', DEADLINE_MS, () => answer().includes('LOCK_LOST'));
    expect(await storedMembers(redis, key)).toEqual(['m2']);
    expect(await storedEpoch(redis, key, 'm2')).toBe(epoch);
  });

  it('SIGKILL after the write: the other goes on at once, and tells the member what was written', async () => {
    let killedMs = 0;
    proxy.hold('ANSWER', isCommit, () => {
      killedMs = performance.now();
      failing.kill().catch(() => undefined);
    });
    const lost = joinAt(failing, 'm1').catch(() => null);
    await waitUntil('killed', DEADLINE_MS, () => killedMs > 0 && failing.end !== null);
    expect(await lost).toBeNull();
    const written = await storedEpoch(redis, key, 'm1');
    expect(written).toBeGreaterThan(0);
    expect(await joined(other, 'm1')).toBe(written);
    expect(performance.now() - killedMs).toBeLessThan(PROCESS_TIMING.lockTtlMs + TAKEOVER_MARGIN_MS);
  });

  const stalls = [
    { name: 'with its write on the way', held: 'REQUEST', matches: isCommit, refusal: 'LOCK_LOST' },
    { name: 'with the lock just taken', held: 'ANSWER', matches: isLock, refusal: null },
  ] as const;
  it.each(stalls)(
    'SIGSTOP past the lock, $name: what another wrote stays',
    async ({ held, matches, refusal }) => {
      proxy.hold(held, matches, () => failing.freeze());
      const stalled = joinAt(failing, 'm1');
      await waitUntil(
        'frozen inside the section',
        DEADLINE_MS,
        () => proxy.isHolding && isFrozen(failing.pid),
      );
      expect(await isLocked()).toBe(true);

      const epoch = await joined(other, 'm2'); // behind the lock's time to live
      expect(await storedMembers(redis, key)).toEqual(['m2']);

      const answer = proxy.deliver();
      if (refusal !== null) {
        await waitUntil('Redis has refused the late write', DEADLINE_MS, () => answer().includes(refusal));
      }
      expect(await storedMembers(redis, key)).toEqual(['m2']);
      failing.thaw();
      const told = await stalled;
      expect(told.status === 200 || isTypedError(told)).toBe(true);

      const late = await joined(failing, 'm1');
      expect(await storedMembers(redis, key)).toEqual(['m1', 'm2']);
      expect(await storedEpoch(redis, key, 'm1')).toBe(late);
      expect(await storedEpoch(redis, key, 'm2')).toBe(epoch);
      if (told.status === 200) expect(answerOf(told).memberEpoch).toBe(late);
    },
  );
});
