import { expect } from '@jest/globals';
import type { GroupKey } from '../../src/domain/ids';
import type { ErrorBody, HeartbeatAnswer } from '../../src/protocol';
import {
  type CoordinatorProcess,
  PROCESS_TIMING,
  startCoordinatorProcess,
} from '../support/coordinator-process';
import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
  waitUntil,
} from '../support/redis-server';
import { groupKeyOf, STORED_KEYS, storedGroup, storedMembers } from '../support/stored-group';
import { repeatedLines, troubleLines } from './log-lines';
import { isTypedError, MemberTraffic } from './member-traffic';

/** How soon readiness follows Redis, down and up, and how soon every request is answered. */
export const PROMISED_MS = 2_000;
const POLL_MS = 10;
/** One line each of the connection, the requests and the event loop, for each of the few kinds that one outage shows. */
const MAX_TROUBLE_LINES = 12;
const LONGER_THAN_A_LEASE_MS = PROCESS_TIMING.leaseTtlMs + 300;
const MEMBERS = ['m1', 'm2', 'm3'];

export interface RedisFaultCase {
  readonly name: string;
  readonly options?: RedisServerOptions;
  /** How the coordinator reaches Redis; by default without password. */
  readonly url?: (redis: RedisServer) => string;
  /** Before the coordinator starts, e.g. a second Redis. */
  readonly prepare?: (redis: RedisServer) => Promise<void>;
  /** Causes the fault. */
  readonly begin: (redis: RedisServer) => Promise<void>;
  /** Asserts that the fault is there, asked past the coordinator. */
  readonly proof: (redis: RedisServer) => Promise<void>;
  readonly end: (redis: RedisServer) => Promise<void>;
  /** Kinds of fault that readiness may name. */
  readonly faults: readonly string[];
  readonly retryable: boolean;
  readonly losesData?: boolean;
  /** It comes back under another identity, and may have lost writes: a correction round asks who reads what. */
  readonly isAnotherRedis?: boolean;
}

/** What one case runs on. `close` ends everything, however far it got. */
export class FaultWorld {
  redis!: RedisServer;
  coordinator!: CoordinatorProcess;
  traffic!: MemberTraffic;
  readonly key: GroupKey = groupKeyOf('orders', 'billing');
  private readonly closers: (() => Promise<void>)[] = [];

  async open({
    options = {},
    url = ({ port }) => `redis://127.0.0.1:${port}`,
    prepare,
  }: RedisFaultCase): Promise<void> {
    this.redis = await startRedisServer(options);
    this.closers.unshift(() => this.redis.stop());
    await prepare?.(this.redis);
    this.coordinator = await startCoordinatorProcess(url(this.redis));
    this.closers.unshift(() => this.coordinator.stop());
    await this.coordinator.waitForReadiness(200);
    await this.coordinator.createGroup(this.key);
    this.traffic = new MemberTraffic(this.coordinator, this.key);
    this.closers.unshift(() => this.traffic.stop());
    await this.traffic.start(MEMBERS);
    await this.traffic.untilAll('served before the fault', ({ status }) => status === 200);
  }

  async close(): Promise<void> {
    for (const close of this.closers.splice(0)) await close();
  }
}

/** Everything that is promised of a coordinator whose Redis fails for longer than a lease, and comes back. */
export async function checkRedisFault(world: FaultWorld, fault: RedisFaultCase): Promise<void> {
  await world.open(fault);
  const { coordinator, redis, traffic } = world;
  const before = new Map(MEMBERS.map((memberId) => [memberId, traffic.tenureOf(memberId).memberEpoch]));

  await fault.begin(redis);
  const beganMs = performance.now();
  await readinessTurns(coordinator, 503, beganMs);
  await fault.proof(redis);
  // What is seen first of a connection that is refused is that it is gone.
  await waitUntil(`readiness names ${fault.faults.join(' or ')}`, PROMISED_MS, async () =>
    fault.faults.includes(String(await readinessFault(coordinator))),
  );
  await expectRefusal(world, 'm1', fault);
  await expectRefusal(world, 'stranger', fault);
  await waitUntil('the fault outlasts the leases', LONGER_THAN_A_LEASE_MS + PROMISED_MS, () => {
    return performance.now() - beganMs > LONGER_THAN_A_LEASE_MS;
  });
  await traffic.untilAll('refused to the last', isTypedError);
  await fault.proof(redis);

  await fault.end(redis);
  const endedMs = performance.now();
  await readinessTurns(coordinator, 200, endedMs);
  if (fault.losesData === true) await expectNeverRecreated(world);
  else await expectContinued(world, before, endedMs, fault.isAnotherRedis === true);

  await traffic.stop();
  expectAnswers(world, fault);
  expect(coordinator.end).toBeNull();
  expect(repeatedLines(coordinator.log)).toEqual([]);
  expect(troubleLines(coordinator.log).length).toBeGreaterThan(0);
  expect(troubleLines(coordinator.log).length).toBeLessThanOrEqual(MAX_TROUBLE_LINES);
}

async function readinessTurns(
  coordinator: CoordinatorProcess,
  status: 200 | 503,
  sinceMs: number,
): Promise<void> {
  await coordinator.waitForReadiness(status, 2 * PROMISED_MS);
  expect(performance.now() - sinceMs).toBeLessThan(PROMISED_MS);
}

async function readinessFault(coordinator: CoordinatorProcess): Promise<unknown> {
  const { body } = await coordinator.readiness();
  return (body as { error?: { redis?: { fault?: unknown } } }).error?.redis?.fault;
}

async function expectRefusal(
  { coordinator, traffic, key }: FaultWorld,
  memberId: string,
  { retryable }: RedisFaultCase,
): Promise<void> {
  const sentMs = performance.now();
  const tenure = MEMBERS.includes(memberId) ? traffic.tenureOf(memberId) : {};
  const answer = await coordinator.heartbeat(key, memberId, { ...tenure });
  expect(performance.now() - sentMs).toBeLessThan(PROMISED_MS);
  expect(isTypedError(answer)).toBe(true);
  expect(answer.body).toMatchObject({ retryable });
}

/** The members go on under the epochs that they had, although they could not renew their leases. */
async function expectContinued(
  { coordinator, traffic, key, redis }: FaultWorld,
  epochs: ReadonlyMap<string, number>,
  endedMs: number,
  hasRound: boolean,
): Promise<void> {
  const promisedMs = PROMISED_MS + (hasRound ? 2 : 1) * PROCESS_TIMING.leaseTtlMs;
  await waitUntil('a heartbeat is answered OK', 2 * promisedMs, async () => {
    const answer = await coordinator.heartbeat(key, 'm1', { ...traffic.tenureOf('m1') });
    return answer.status === 200 && (answer.body as HeartbeatAnswer).status === 'OK';
  });
  expect(performance.now() - endedMs).toBeLessThan(promisedMs);
  await traffic.untilAll('served after the fault', ({ status }) => status === 200);
  expect(await storedMembers(redis, key)).toEqual(expect.arrayContaining(MEMBERS));
  for (const [memberId, epoch] of epochs) expect(traffic.tenureOf(memberId).memberEpoch).toBe(epoch);
}

async function expectNeverRecreated({ coordinator, traffic, key, redis }: FaultWorld): Promise<void> {
  const isNotFound = ({ status, body }: { status: number; body: unknown }): boolean =>
    status === 404 && (body as ErrorBody).errorCode === 'GROUP_NOT_FOUND';
  await traffic.untilAll('the group is gone', isNotFound);
  const sinceMs = performance.now();
  await waitUntil('a lease has passed', LONGER_THAN_A_LEASE_MS + PROMISED_MS, () => {
    return performance.now() - sinceMs > PROCESS_TIMING.leaseTtlMs;
  });
  await traffic.untilAll('the group is still gone', isNotFound);
  expect(await storedGroup(redis, key)).toBeNull();
  // Sections that found nothing lock for a moment.
  const keys = (await redis.cli('KEYS', '*orders*')) as string[];
  expect(keys.filter((name) => name !== STORED_KEYS.lock(key))).toEqual([]);
  expect((await coordinator.call('GET', '/coord/v1/monitoring/groups')).body).toMatchObject({ groups: [] });
}

/** Of everything that was sent in the whole run. */
function expectAnswers(
  { traffic }: FaultWorld,
  { losesData, isAnotherRedis, retryable }: RedisFaultCase,
): void {
  const { exchanges } = traffic;
  const served = ['OK', 'RETRY', ...(isAnotherRedis === true ? ['SYNC_METADATA', 'REVOKE_PENDING'] : [])];
  const unexpected = exchanges.filter((exchange) => {
    if (exchange.kind === 'LIVENESS') return exchange.status !== 200;
    if (exchange.status === 200) return !served.includes((exchange.body as HeartbeatAnswer).status);
    if (exchange.status === 404) return losesData !== true;
    return !isTypedError(exchange);
  });
  expect(unexpected).toEqual([]);
  expect(exchanges.filter(({ tookMs }) => tookMs >= PROMISED_MS)).toEqual([]);
  const refusals = exchanges.filter(isTypedError);
  expect(refusals.length).toBeGreaterThan(POLL_MS);
  const told = refusals.map(({ body }) => (body as ErrorBody).retryable);
  if (retryable) expect(told).not.toContain(false);
}
