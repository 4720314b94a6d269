import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CoordinatorClient, type StreamMessage, type StreamPublisher } from '../../src/client';
import { InjectPublisher, RedisStreamModule, StreamListener } from '../../src/nestjs';
import { type CoordinatorApp, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';

@Injectable()
class Orders {
  readonly handled: string[] = [];

  constructor(@InjectPublisher('orders', 'billing') readonly publisher: StreamPublisher) {}

  @StreamListener({ streamPrefix: 'orders', consumerGroup: 'billing', concurrency: 2 })
  async onOrder(message: StreamMessage): Promise<void> {
    this.handled.push(message.fields['number'] ?? '');
  }
}

let redis: RedisServer;
let coordinator: CoordinatorApp;
let client: CoordinatorClient;
let application: TestingModule | null = null;

beforeEach(async () => {
  redis = await startRedisServer();
  coordinator = await startCoordinatorApp(redis.url);
  client = new CoordinatorClient({ coordinatorUrl: coordinator.url });
});

afterEach(async () => {
  await application?.close();
  application = null;
  await client.close();
  await coordinator.close();
  await redis.stop();
});

async function startApplication(): Promise<TestingModule> {
  application = await Test.createTestingModule({
    imports: [
      RedisStreamModule.forRoot({ coordinatorUrl: coordinator.url, redis: redis.url }),
      RedisStreamModule.forPublisher({ streamPrefix: 'orders', consumerGroup: 'billing' }),
    ],
    providers: [Orders],
  }).compile();
  application.useLogger(false);
  await application.init();
  return application;
}

describe('a Nest application with the module, on a real coordinator and Redis', () => {
  it('handles what it publishes, and leaves the group when it closes', async () => {
    await client.createStream('orders', {
      consumerGroup: 'billing',
      initialShardCount: 4,
      requestedBy: 'test',
    });
    const orders = (await startApplication()).get(Orders);
    const numbers = Array.from({ length: 40 }, (_, number) => String(number));
    const items = numbers.map((number) => ({ key: `customer-${number}`, content: { number } }));
    const outcomes = await orders.publisher.publishBatch(items);
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    await waitUntil('all are handled', 20_000, () => orders.handled.length === numbers.length);
    expect(orders.handled.toSorted()).toEqual(numbers.toSorted());
    expect((await client.members('orders', 'billing')).members.length).toBe(2);
    await application?.close();
    application = null;
    expect((await client.members('orders', 'billing')).members).toEqual([]);
  });

  it('does not start when the group does not exist', async () => {
    await expect(startApplication()).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
    application = null; // it never was open
  });
});

describe('the coordinator client, on a real coordinator', () => {
  it('understands the answer of every endpoint', async () => {
    const why = { requestedBy: 'test', reason: 'contract' };
    const create = { consumerGroup: 'billing', initialShardCount: 2, requestedBy: 'test' };
    expect(await client.createStream('orders', create)).toMatchObject({
      streamPrefix: 'orders',
      shardCount: 2,
    });
    expect(await client.createGroup('orders', 'audit', { requestedBy: 'test' })).toMatchObject({
      shardCount: 2,
    });
    const group = await client.group('orders', 'billing');
    expect(group).toMatchObject({ state: 'EMPTY', shardCount: 2 });
    expect(await client.monitoredGroup('orders', 'billing')).toEqual(group);
    const joined = await client.heartbeat('orders', 'billing', 'host:1@a', {
      protocolVersion: 1,
      requestId: 'r-1',
      memberId: 'host:1@a',
      memberEpoch: 0,
      metadataVersion: 0,
      instanceId: 'i-1',
      runtimeConsumerCapacity: { runtimeMaxConcurrency: 1, availableConcurrency: 1 },
    });
    expect(joined).toMatchObject({ status: 'OK', responseTo: 'r-1' });
    expect(joined.assignment.assignedShards.length).toBe(2);
    const routing = await client.producerRouting('orders', 'billing');
    expect(routing.shards.map(({ streamKey }) => streamKey)).toEqual(['orders:0', 'orders:1']);
    const seen = { metadataVersion: routing.metadataVersion, maxObservedVersion: routing.metadataVersion };
    expect(await client.producerRouting('orders', 'billing', { ...seen, waitMs: 20 })).toEqual(routing);
    expect(await client.health()).toMatchObject({ status: 'UP' });
    expect(await client.compatibility()).toMatchObject({ currentCoordinationVersion: 1 });
    const first = await client.groups({ streamPrefix: 'orders', limit: 1 });
    expect(first.groups.length).toBe(1);
    expect((await client.members('orders', 'billing')).members).toMatchObject([{ memberId: 'host:1@a' }]);
    expect((await client.assignments('orders', 'billing')).invariantViolations).toEqual([]);
    expect(await client.fenceMember('orders', 'billing', 'host:1@a', why)).toMatchObject({ shardCount: 2 });
    expect(await client.deleteGroup('orders', 'audit', why)).toMatchObject({ consumerGroup: 'audit' });
  });

  it('tells a refusal from an outage', async () => {
    await expect(client.group('orders', 'billing')).rejects.toMatchObject({
      code: 'COORDINATOR_REQUEST_FAILED',
      httpStatus: 404,
      errorCode: 'GROUP_NOT_FOUND',
      retryable: false,
    });
    const invalid = client.createStream('orders', { requestedBy: '' });
    await expect(invalid).rejects.toMatchObject({ httpStatus: 400, errorCode: 'INVALID_REQUEST' });
    await expect(invalid).rejects.toMatchObject({
      details: [expect.objectContaining({ field: 'requestedBy' })],
    });
  });
});
