import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { CommandProbe } from '../../src/redis/command-probe';
import { RedisConnections } from '../../src/redis/redis-connections';
import type { RedisOptions } from '../../src/redis/redis-options';
import type { GroupIndex, LoopStore, StreamRegistry } from '../../src/store/group-index';
import type { MetadataStore } from '../../src/store/metadata-store';
import { StoreModule } from '../../src/store/store.module';
import { GROUP_INDEX, LOOP_STORE, METADATA_STORE, STREAM_REGISTRY } from '../../src/store/store.tokens';
import { freshKey } from '../contract/group-fixtures';
import { startRedisServer, waitUntil, type RedisServer } from '../support/redis-server';

const SETTINGS = Symbol('SETTINGS');
const lines: object[] = [];

function optionsFor(url: string): RedisOptions {
  return {
    url,
    clientName: 'coordinator-1',
    keyPrefix: 'module-test',
    commandTimeoutMs: 300,
    connectTimeoutMs: 1_000,
    logger: { warn: (fields) => lines.push(fields) },
  };
}

async function startModule(url: string): Promise<INestApplicationContext> {
  @Module({ providers: [{ provide: SETTINGS, useValue: optionsFor(url) }], exports: [SETTINGS] })
  class SettingsModule {}

  const built = await Test.createTestingModule({
    imports: [
      StoreModule.forRootAsync({
        imports: [SettingsModule],
        inject: [SETTINGS],
        useFactory: (options: RedisOptions) => options,
      }),
    ],
  }).compile();
  return built.init();
}

describe('the store module', () => {
  let server: RedisServer;
  let app: INestApplicationContext | null = null;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterEach(async () => {
    await app?.close();
    app = null;
  });
  afterAll(async () => server.stop());

  it('binds every port to Redis, ready for the first command', async () => {
    app = await startModule(server.url);
    const key = freshKey();
    expect(await app.get<MetadataStore>(METADATA_STORE).load(key)).toMatchObject({ kind: 'MISSING' });
    expect(await app.get<GroupIndex>(GROUP_INDEX).list(null, 10)).toEqual({ keys: [], cursor: null });
    expect(await app.get<StreamRegistry>(STREAM_REGISTRY).load(key.streamPrefix)).toBeNull();
    const pass = {
      coordinatorId: 'a',
      outageAfterMs: 1,
      leaseTtlMs: 1,
      clockJumped: false,
      hasPassed: false,
      limit: 1,
    };
    expect((await app.get<LoopStore>(LOOP_STORE).pass(pass)).due).toEqual([]);
    expect(await app.get(CommandProbe).missingCommands()).toEqual([]);
    expect(String(await server.cli('CLIENT', 'LIST'))).toContain('name=coordinator-1');
  });

  it('starts without Redis, fails each call at once, and works once Redis is there', async () => {
    await server.kill();
    app = await startModule(server.url);
    const store = app.get<MetadataStore>(METADATA_STORE);
    const startedMs = performance.now();
    await expect(store.load(freshKey())).rejects.toMatchObject({
      code: 'METADATA_STORE_UNAVAILABLE',
      fault: 'CONNECTION',
      retryable: true,
    });
    expect(performance.now() - startedMs).toBeLessThan(500);
    expect(app.get(RedisConnections).isConnected).toBe(false);
    await server.restart();
    await waitUntil('reconnected', 5_000, async () =>
      store.load(freshKey()).then(
        () => true,
        () => false,
      ),
    );
  });

  it('ends within its deadline though Redis is frozen', async () => {
    app = await startModule(server.url);
    server.freeze();
    try {
      const startedMs = performance.now();
      await app.close();
      expect(performance.now() - startedMs).toBeLessThan(2_000);
    } finally {
      server.thaw();
      app = null;
    }
  });

  it('refuses a password with unencoded reserved characters, without showing it', async () => {
    const start = startModule('redis://:pa/ss@127.0.0.1:6379');
    await expect(start).rejects.toThrow(/percent-encode/);
    await expect(start).rejects.not.toThrow(/pa\/ss/);
  });
});
