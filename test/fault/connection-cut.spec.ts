import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { answerOf, type CoordinatorProcess, startCoordinatorProcess } from '../support/coordinator-process';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';
import { groupKeyOf, storedEpoch, storedMembers } from '../support/stored-group';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { repeatedLines } from './log-lines';
import { isTypedError, MemberTraffic } from './member-traffic';
import { PROMISED_MS } from './redis-fault-check';
import { isCommit } from './section-calls';

const DEADLINE_MS = 10_000;
const CUTS = 5;
/** Commands have half a second: the wire runs through this busy process. */
const TIMES = { COORD_LOCK_TTL_MS: '2000', COORD_MEMBER_LEASE_TTL_MS: '3000' };
/** A cut leaves a lock behind, for which the next section waits up to 1.2 of its time to live, and its queue 1.6. */
const ANSWER_MS = 1.6 * 2_000 + 1_000;
const key = groupKeyOf('orders', 'billing');

describe('a coordinator whose connection to Redis is cut', () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  let coordinator: CoordinatorProcess;
  let traffic: MemberTraffic;

  beforeEach(async () => {
    redis = await startRedisServer();
    proxy = await startTcpProxy(redis.port);
    coordinator = await startCoordinatorProcess(proxy.url, TIMES);
    await coordinator.waitForReadiness(200);
    await coordinator.createGroup(key);
    traffic = new MemberTraffic(coordinator, key);
  });
  afterEach(async () => {
    await traffic.stop();
    await coordinator.stop();
    await proxy.close();
    await redis.stop();
  });

  /** Joins, and says when that was refused as a fault that may be over soon. */
  async function joinInto(cut: () => void): Promise<void> {
    const joining = coordinator.heartbeat(key, 'm1', { instanceId: 'tenure' });
    await waitUntil('something is held', DEADLINE_MS, () => proxy.isHolding);
    const cutMs = performance.now();
    cut();
    const answer = await joining;
    expect(performance.now() - cutMs).toBeLessThan(PROMISED_MS);
    expect(isTypedError(answer)).toBe(true);
    expect(answer.body).toMatchObject({ errorCode: 'METADATA_STORE_UNAVAILABLE', retryable: true });
  }

  async function joinAgain(): Promise<number> {
    let epoch = 0;
    await waitUntil('joined', DEADLINE_MS, async () => {
      const answer = await coordinator.heartbeat(key, 'm1', { instanceId: 'tenure' });
      if (answer.status === 200) epoch = answerOf(answer).memberEpoch;
      return epoch > 0;
    });
    return epoch;
  }

  it('before the write of a section arrives: nothing is written, and the section is repeated on request', async () => {
    proxy.hold('REQUEST', isCommit);
    await joinInto(() => proxy.cut());
    expect(await storedMembers(redis, key)).toEqual([]);
    const epoch = await joinAgain();
    expect(await storedEpoch(redis, key, 'm1')).toBe(epoch);
  });

  it('before the answer to a write arrives: all is written, and the repeated request finds it', async () => {
    proxy.hold('ANSWER', isCommit);
    await joinInto(() => proxy.cut());
    const written = await storedEpoch(redis, key, 'm1');
    expect(written).toBeGreaterThan(0);
    expect(await joinAgain()).toBe(written);
  });

  const cuts = [
    { name: 'by the network', cut: async () => proxy.cut() },
    { name: 'by CLIENT KILL', cut: async () => redis.cli('CLIENT', 'KILL', 'TYPE', 'normal') },
  ];
  it.each(cuts)(
    '$name, again and again under load: every request is answered, no tenure ends',
    async ({ cut }) => {
      await traffic.start(['m1', 'm2', 'm3']);
      const epochs = ['m1', 'm2', 'm3'].map((memberId) => traffic.tenureOf(memberId).memberEpoch);
      const connectionsBefore = await connectionCount();
      for (let count = 0; count < CUTS; count += 1) {
        await traffic.untilAll('served', ({ status }) => status === 200);
        await cut();
      }
      await traffic.untilAll('served in the end', ({ status }) => status === 200);
      await traffic.stop();
      expect((await connectionCount()) - connectionsBefore).toBeGreaterThanOrEqual(CUTS);
      await coordinator.waitForReadiness(200, PROMISED_MS);
      const { exchanges } = traffic;
      expect(exchanges.filter((exchange) => exchange.status !== 200 && !isTypedError(exchange))).toEqual([]);
      expect(exchanges.filter(({ tookMs }) => tookMs >= ANSWER_MS)).toEqual([]);
      expect(['m1', 'm2', 'm3'].map((memberId) => traffic.tenureOf(memberId).memberEpoch)).toEqual(epochs);
      expect(await storedMembers(redis, key)).toEqual(expect.arrayContaining(['m1', 'm2', 'm3']));
      expect(repeatedLines(coordinator.log)).toEqual([]);
    },
  );

  async function connectionCount(): Promise<number> {
    const stats = String(await redis.cli('INFO', 'stats'));
    return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
  }
});
