import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProducerRouting } from '../../src/protocol';
import { type CoordinatorApp, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

describe('a routing read', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  it.each(['metadataVersion', 'maxObservedVersion'])(
    'starts a correction round when %s is above the recorded one, and says what it is below of',
    async (name) => {
      const group = `/coord/v1/streams/${name}/groups/g`;
      await coordinator.call('POST', group, { requestedBy: 'test' });
      const read = (query: string) => coordinator.call('GET', `${group}/producer-routing${query}`);
      const { metadataVersion } = (await read('')).body as ProducerRouting;
      expect((await read(`?${name}=${metadataVersion}`)).body).toMatchObject({ regressed: false });
      const inFuture = Date.now() + 3_600_000;
      const answer = await read(`?${name}=${inFuture}`);
      expect(answer).toMatchObject({ status: 200, body: { regressed: true } });
      expect((answer.body as ProducerRouting).metadataVersion).toBeGreaterThan(metadataVersion);
      const again = await read(`?${name}=${inFuture}`);
      expect(again.body).toEqual(answer.body); // the version that started it starts no other
    },
  );
});
