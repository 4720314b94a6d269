import { afterEach, describe, expect, it } from '@jest/globals';
import { CommandProbe } from '../../src/redis/command-probe';
import { CoordinatorKeys } from '../../src/store/redis/coordinator-keys';
import { RedisMetadataStore } from '../../src/store/redis/redis-metadata-store';
import { RedisNoticeBus } from '../../src/store/redis/redis-notice-bus';
import { RedisStreamProvisioner } from '../../src/store/redis/redis-stream-provisioner';
import { ProvisioningError } from '../../src/store/stream-provisioner';
import { freshKey, groupOf, leasesOf, successorOf } from '../contract/group-fixtures';
import { FixedIdentity } from '../contract/redis-harness';
import { commitOf } from '../contract/store-harness';
import { waitUntil, type RedisServer, type RedisServerOptions } from '../support/redis-server';
import { RECOVERY_MS, recovers, RedisStage } from './redis-stage';

const COMMAND_TIMEOUT_MS = 300;
/** A call ends within its own deadline and some time for a busy machine. */
const BOUND_MS = 1_500;
const request = { token: 't', lockTtlMs: 60_000, known: null };

describe('the Redis store, when Redis fails', () => {
  const stage = new RedisStage();
  const start = (options?: RedisServerOptions): Promise<RedisServer> => stage.start(options);
  afterEach(() => stage.clear());

  async function connect(url: string) {
    const access = await stage.access(url, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
    const keys = new CoordinatorKeys('faults');
    const store = new RedisMetadataStore(access.lua, access.commands, keys, new FixedIdentity());
    return { ...access, keys, store };
  }

  async function expectFault(call: Promise<unknown>, fault: string, retryable: boolean): Promise<void> {
    const startedMs = performance.now();
    await expect(call).rejects.toMatchObject({ code: 'METADATA_STORE_UNAVAILABLE', fault, retryable });
    expect(performance.now() - startedMs).toBeLessThan(BOUND_MS);
  }

  it('ends each call in time while Redis is frozen, logs one line, and goes on after the thaw', async () => {
    const server = await start();
    const { store, faults } = await connect(server.url);
    await store.load(freshKey());
    server.freeze();
    await expectFault(store.load(freshKey()), 'TIMEOUT', true);
    await expectFault(store.lockAndLoad(freshKey(), request), 'TIMEOUT', true);
    server.thaw();
    await recovers(async () => store.load(freshKey()));
    expect(faults.filter((line) => 'fault' in line && line.fault === 'TIMEOUT')).toHaveLength(1);
  });

  it('refuses a commit that waited in a frozen Redis until its lock was over', async () => {
    const server = await start();
    const { store, keys } = await connect(server.url);
    const group = groupOf(freshKey(), [], Date.now());
    await store.lockAndLoad(group, { ...request, lockTtlMs: 400 });
    server.freeze();
    const startedMs = performance.now();
    await expectFault(store.commitAndUnlock(group, commitOf(null, group, 't')), 'TIMEOUT', true);
    await waitUntil('the lock is over', RECOVERY_MS, () => performance.now() - startedMs > 500);
    server.thaw();
    await recovers(async () => store.load(group));
    expect(await server.cli('EXISTS', keys.metadata(group), keys.lock(group))).toBe(0);
  });

  it('fails at once while Redis is gone, and goes on when it is back, with its data', async () => {
    const server = await start({ appendOnly: true });
    const { store } = await connect(server.url);
    const group = groupOf(freshKey(), [], Date.now());
    await store.lockAndLoad(group, request);
    await store.commitAndUnlock(group, commitOf(null, group, 't', { leaseChanges: leasesOf([], 0) }));
    await server.kill();
    await expectFault(store.load(group), 'CONNECTION', true);
    await server.restart();
    await recovers(async () => store.load(group));
    expect(await store.load(group, group)).toMatchObject({ kind: 'LOADED', metadata: group });
  });

  it('says MISSING of a group after Redis came back empty', async () => {
    const server = await start();
    const { store } = await connect(server.url);
    await server.restart({ kill: true, wipe: true });
    await recovers(async () => store.load(freshKey()));
    expect(await store.load(freshKey())).toMatchObject({ kind: 'MISSING' });
  });

  it('leaves a value whole when the connection is cut in the middle of a section', async () => {
    const server = await start();
    const { store } = await connect(server.url);
    const group = groupOf(freshKey(), [], Date.now());
    await store.lockAndLoad(group, request);
    await store.commitAndUnlock(group, commitOf(null, group, 't'));
    await store.lockAndLoad(group, request);
    const next = successorOf(group, Date.now());
    const commit = store.commitAndUnlock(group, commitOf(group, next, 't')).catch(() => null);
    await server.cli('CLIENT', 'KILL', 'TYPE', 'normal');
    await commit;
    await recovers(async () => store.load(group));
    const read = await store.load(group);
    if (read.kind !== 'LOADED') throw new Error(read.kind);
    expect([group.writeId, next.writeId]).toContain(read.metadata.writeId);
  });

  it('reads from a read-only replica, writes nothing, and writes once it is promoted', async () => {
    const primary = await start();
    const replica = await stage.replicaOf(primary);
    const { store } = await connect(replica.url);
    await expectFault(store.lockAndLoad(freshKey(), request), 'READ_ONLY', true);
    expect(await store.load(freshKey())).toMatchObject({ kind: 'MISSING' });
    await replica.cli('REPLICAOF', 'NO', 'ONE');
    expect(await store.lockAndLoad(freshKey(), request)).toMatchObject({ kind: 'MISSING' });
  });

  it('says LOADING while Redis loads, and goes on after that', async () => {
    const server = await start({
      config: ['key-load-delay 2000', 'loading-process-events-interval-bytes 1024'],
    });
    const { store } = await connect(server.url);
    await server.cli('DEBUG', 'POPULATE', '500', 'key', '500');
    await server.cli('CONFIG', 'SET', 'save', '3600 1');
    const reload = server.cli('DEBUG', 'RELOAD').catch(() => undefined);
    await waitUntil('loading', RECOVERY_MS, async () =>
      store.load(freshKey()).then(
        () => false,
        (error: unknown) => (error as { fault?: string }).fault === 'LOADING',
      ),
    );
    await reload;
    await recovers(async () => store.load(freshKey()));
  });

  it('says what is wrong with a password, and goes on when it is right', async () => {
    const server = await start({ password: 'right' });
    const { store } = await connect(server.url.replace('right', 'wrong'));
    await waitUntil('refused', RECOVERY_MS, async () =>
      store.load(freshKey()).then(
        () => false,
        (error: unknown) => (error as { fault?: string }).fault === 'NOT_AUTHENTICATED',
      ),
    );
    await expectFault(store.load(freshKey()), 'NOT_AUTHENTICATED', false);
    await server.cli('CONFIG', 'SET', 'requirepass', 'wrong');
    await recovers(async () => store.load(freshKey()));
  });

  it('names the commands that the ACL lacks', async () => {
    const server = await start({
      acl: [
        'user admin on >admin ~* &* +@all',
        'user default on nopass ~* &* +@all',
        'user some on >x ~* &* +@all -eval -hset -xgroup|create -publish',
      ],
      adminUser: { username: 'admin', password: 'admin' },
    });
    const full = await connect(server.url);
    expect(await new CommandProbe(full.commands, 'faults').missingCommands()).toEqual([]);
    expect(await server.cli('DBSIZE')).toBe(0);
    const some = await connect(`redis://some:x@127.0.0.1:${server.port}`);
    const missing = await new CommandProbe(some.commands, 'faults').missingCommands();
    expect(missing).toEqual(['EVAL', 'HSET', 'PUBLISH', 'XGROUP CREATE']);
    await expectFault(some.store.load(freshKey()), 'NOT_PERMITTED', false);
  });

  it('creates every stream with its group, in bounded pipelines, and says which failure is worth a retry', async () => {
    const server = await start();
    const { commands } = await connect(server.url);
    const provisioner = new RedisStreamProvisioner(commands);
    const { streamPrefix, consumerGroup } = freshKey();
    await provisioner.provision(streamPrefix, 600, consumerGroup);
    await server.cli('XADD', `${streamPrefix}:7`, '1-1', 'field', 'value');
    await provisioner.provision(streamPrefix, 601, consumerGroup);
    expect(await server.cli('DBSIZE')).toBe(601);
    expect(JSON.stringify(await server.cli('XINFO', 'GROUPS', `${streamPrefix}:600`))).toContain(
      consumerGroup,
    );
    const group = 'GROUP';
    const read = server.cli('XREADGROUP', group, consumerGroup, 'me', 'STREAMS', `${streamPrefix}:7`, '>');
    expect(JSON.stringify(await read)).toContain('1-1'); // from the first entry on
    await server.cli('SET', `${streamPrefix}:601`, 'text');
    const failure = provisioner.provision(streamPrefix, 602, consumerGroup);
    await expect(failure).rejects.toBeInstanceOf(ProvisioningError);
    await expect(failure).rejects.toMatchObject({
      code: 'REDIS_STREAM_PROVISIONING_FAILED',
      retryable: false,
    });
    await provisioner.purge(streamPrefix, 602);
    expect(await server.cli('DBSIZE')).toBe(0);
    await server.cli('CONFIG', 'SET', 'maxmemory', '1');
    await expect(provisioner.provision(streamPrefix, 3, consumerGroup)).rejects.toMatchObject({
      retryable: true,
    });
  });

  it('hears notices again after the connection was lost', async () => {
    const server = await start();
    const { subscriber, keys } = await connect(server.url);
    const heard: string[] = [];
    new RedisNoticeBus(subscriber, keys).onNotice(({ streamPrefix }) => heard.push(streamPrefix));
    const hears = async (name: string): Promise<void> =>
      waitUntil(`heard ${name}`, RECOVERY_MS, async () => {
        await server.cli('PUBLISH', keys.noticeChannel, 'no group');
        await server.cli('PUBLISH', keys.noticeChannel, `${name}:billing`);
        return heard.includes(name);
      });
    await hears('before');
    await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await hears('after');
  });
});
