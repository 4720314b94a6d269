import { afterEach, describe, expect, it } from '@jest/globals';
import { RedisIdentity } from '../../src/redis/redis-identity';
import { CommandProbe } from '../../src/redis/command-probe';
import { CoordinatorKeys } from '../../src/store/redis/coordinator-keys';
import { RedisLoopStore } from '../../src/store/redis/redis-group-index';
import { RedisMetadataStore } from '../../src/store/redis/redis-metadata-store';
import { freshKey, groupOf, reportOf } from '../contract/group-fixtures';
import { commitOf } from '../contract/store-harness';
import type { RedisServer, RedisServerOptions } from '../support/redis-server';
import { recovers, RedisStage } from './redis-stage';

const request = { token: 't', lockTtlMs: 60_000, known: null };

describe('the identity of Redis, on a real one', () => {
  const stage = new RedisStage();
  const start = (options?: RedisServerOptions): Promise<RedisServer> => stage.start(options);
  afterEach(() => stage.clear());

  async function connect(url: string) {
    const access = await stage.access(url);
    const identity = new RedisIdentity(access.client, access.commands);
    const keys = new CoordinatorKeys('identity');
    return {
      ...access,
      identity,
      store: new RedisMetadataStore(access.lua, access.commands, keys, identity),
    };
  }

  const info = async (server: RedisServer, field: string): Promise<string> =>
    new RegExp(`^${field}:(\\w+)`, 'm').exec(String(await server.cli('INFO')))?.[1] ?? '';

  it('is the run id and the replication id, known to the first command', async () => {
    const server = await start();
    const { store } = await connect(server.url);
    const redisId = `${await info(server, 'run_id')}/${await info(server, 'master_replid')}`;
    expect(redisId).toMatch(/^[0-9a-f]{40}\/[0-9a-f]{40}$/);
    expect(await store.load(freshKey())).toMatchObject({ kind: 'MISSING', redisId });
  });

  it('is another one after a restart: the group says which one wrote it, and no lease is renewed', async () => {
    const server = await start({ appendOnly: true });
    const { store } = await connect(server.url);
    const before = await store.lockAndLoad(freshKey(), request);
    if (before.kind !== 'MISSING') throw new Error(before.kind);
    const group = { ...groupOf(freshKey(), [], Date.now()), redisId: before.redisId };
    await store.lockAndLoad(group, request);
    expect(await store.commitAndUnlock(group, commitOf(null, group, 't'))).toMatchObject({
      kind: 'COMMITTED',
    });
    await server.kill();
    await expect(store.load(group)).rejects.toMatchObject({ fault: 'CONNECTION', retryable: true });
    await server.restart();
    await recovers(async () => store.load(group));
    const after = await store.load(group, group);
    if (after.kind !== 'LOADED') throw new Error(after.kind);
    expect(after.metadata.redisId).toBe(before.redisId);
    expect(after.redisId).not.toBe(before.redisId);
    const reports = new Map([['anna', reportOf(0)]]) as never;
    const renewal = { base: after.metadata, leaseTtlMs: 1_000, reports };
    expect(await store.renewLeases(group, renewal)).toEqual({ kind: 'STALE' });
  });

  it('is another one after a promotion on the same connection, once the replica refused a write', async () => {
    const primary = await start();
    const replica = await stage.replicaOf(primary);
    const { store } = await connect(replica.url);
    const before = await store.load(freshKey());
    await expect(store.lockAndLoad(freshKey(), request)).rejects.toMatchObject({ fault: 'READ_ONLY' });
    await replica.cli('REPLICAOF', 'NO', 'ONE');
    const after = await store.lockAndLoad(freshKey(), request);
    if (before.kind !== 'MISSING' || after.kind !== 'MISSING') throw new Error('a group was found');
    expect(after.redisId).not.toBe(before.redisId);
    expect(after.redisId).toBe(`${await info(replica, 'run_id')}/${await info(replica, 'master_replid')}`);
  });

  // Two coordinators that know one Redis by two ids would each start anew the rounds of the other, for ever.
  it('is agreed upon by two that knew it by two ids, because its first replica attached in between', async () => {
    const server = await start();
    const early = await connect(server.url);
    await early.store.load(freshKey());
    await stage.replicaOf(server);
    const late = await connect(server.url);
    const locked = await late.store.lockAndLoad(freshKey(), request);
    if (locked.kind !== 'MISSING') throw new Error(locked.kind);
    expect(locked.redisId).not.toBe(early.identity.current);
    const group = { ...groupOf(freshKey(), [], Date.now()), redisId: locked.redisId };
    await late.store.lockAndLoad(group, request);
    await late.store.commitAndUnlock(group, commitOf(null, group, 't'));
    const seen = await early.store.load(group);
    expect(seen).toMatchObject({ kind: 'LOADED', redisId: locked.redisId });
  });

  it('is learnt anew from each pass of the event loop', async () => {
    const server = await start();
    const { lua, commands, identity } = await connect(server.url);
    const loop = new RedisLoopStore(lua, commands, new CoordinatorKeys('identity'), identity);
    const pass = { coordinatorId: 'a', outageAfterMs: 1, leaseTtlMs: 1, clockJumped: false, limit: 1 };
    const before = await identity.read();
    await stage.replicaOf(server);
    expect(identity.current).toBe(before);
    await loop.pass({ ...pass, hasPassed: false });
    expect(identity.current).toBe(`${await info(server, 'run_id')}/${await info(server, 'master_replid')}`);
    expect(identity.current).not.toBe(before);
  });

  it('cannot be had without the permission for INFO: nothing is read or written, and the command is named', async () => {
    const server = await start({
      acl: [
        'user admin on >admin ~* &* +@all',
        'user default on nopass ~* &* +@all',
        'user some on >x ~* &* +@all -info',
      ],
      adminUser: { username: 'admin', password: 'admin' },
    });
    const { commands, store } = await connect(`redis://some:x@127.0.0.1:${server.port}`);
    expect(await new CommandProbe(commands, 'identity').missingCommands()).toEqual(['INFO']);
    const refusal = { fault: 'NOT_PERMITTED', retryable: false, cause: { operation: 'INFO' } };
    await expect(store.load(freshKey())).rejects.toMatchObject(refusal);
    await expect(store.lockAndLoad(freshKey(), request)).rejects.toMatchObject(refusal);
    expect(await server.cli('DBSIZE')).toBe(0);
  });
});
