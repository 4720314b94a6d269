import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { epochMillis } from '../../src/domain/time';
import type { GroupMetadata } from '../../src/domain/group/group-metadata';
import type { GroupKey } from '../../src/domain/ids';
import { CoordinatorKeys } from '../../src/store/redis/coordinator-keys';
import { RedisLoopStore } from '../../src/store/redis/redis-group-index';
import { RedisMetadataStore } from '../../src/store/redis/redis-metadata-store';
import { freshKey, groupOf, leasesOf, memberId, reportOf, successorOf } from '../contract/group-fixtures';
import { FixedIdentity, redisAccess, type RedisAccess } from '../contract/redis-harness';
import { commitOf, LOCK_TTL_MS } from '../contract/store-harness';
import { startRedisServer, type RedisServer } from '../support/redis-server';

const ANNA = memberId('anna');
const ADMIN = { username: 'admin', password: 'admin' };
const ACL_ADMIN = 'user admin on >admin ~* &* +@all';

describe('the scripts on a real Redis', () => {
  let server: RedisServer;
  let limited: RedisServer;
  const open: RedisAccess[] = [];
  beforeAll(async () => {
    server = await startRedisServer();
    limited = await startRedisServer({
      acl: [
        ACL_ADMIN,
        'user default on nopass ~* &* +@all',
        'user nohdel on >x ~* &* +@all -hdel',
        'user nopublish on >x ~* resetchannels +@all',
        'user nohkeys on >x ~* &* +@all -hkeys',
      ],
      adminUser: ADMIN,
    });
  });
  afterEach(async () => {
    for (const access of open.splice(0)) access.close();
    await server.cli('CONFIG', 'SET', 'maxmemory', '0');
    await server.cli('FLUSHALL');
  });
  afterAll(async () => {
    await server.stop();
    await limited.stop();
  });

  async function storeAt(url: string) {
    const access = await redisAccess(url);
    open.push(access);
    const keys = new CoordinatorKeys('lua');
    const store = new RedisMetadataStore(access.lua, access.commands, keys, new FixedIdentity());
    return { ...access, keys, store };
  }

  async function created(
    { store }: { readonly store: RedisMetadataStore },
    memberCount = 1,
  ): Promise<GroupMetadata> {
    const nowMs = Date.now();
    const ids = Array.from({ length: memberCount }, (_, index) => memberId(`member-${index}`));
    const group = groupOf(freshKey(), memberCount === 1 ? [ANNA] : ids, nowMs);
    await store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: null });
    const leaseChanges = leasesOf([...group.members.keys()], nowMs + 60_000);
    const reports = new Map([...group.members.keys()].map((id) => [id, reportOf(nowMs)]));
    const outcome = await store.commitAndUnlock(group, commitOf(null, group, 't', { leaseChanges, reports }));
    expect(outcome.kind).toBe('COMMITTED');
    return group;
  }

  const hashOf = async (at: RedisServer, keys: CoordinatorKeys, key: GroupKey): Promise<string> =>
    JSON.stringify(pairsOf((await at.cli('HGETALL', keys.metadata(key))) as string[]).sort());

  it('write and read more fields than Lua can unpack at once', async () => {
    const access = await storeAt(server.url);
    const group = await created(access, 2_500);
    const read = await access.store.load(group, group);
    if (read.kind !== 'LOADED') throw new Error(JSON.stringify(read));
    expect(read.leases.size).toBe(2_500);
    await access.store.lockAndLoad(group, { token: 'u', lockTtlMs: LOCK_TTL_MS, known: group });
    const ids = [...group.members.keys()];
    const removal = commitOf(
      group,
      { ...successorOf(group, Date.now()), members: new Map(), shards: [], shardCount: 0 },
      'u',
      {
        leaseChanges: new Map(ids.map((id) => [id, null])),
        reports: new Map(ids.map((id) => [id, null])),
        expectedLeases: read.leases,
      },
    );
    expect(await access.store.commitAndUnlock(group, removal)).toMatchObject({ kind: 'COMMITTED' });
    expect(await server.cli('HLEN', access.keys.metadata(group))).toBe(7);
  });

  it('give the lock a time to live, and the metadata none', async () => {
    const access = await storeAt(server.url);
    const group = await created(access);
    await access.store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: null });
    expect(await server.cli('GET', access.keys.lock(group))).toBe('t');
    expect(Number(await server.cli('PTTL', access.keys.lock(group)))).toBeGreaterThan(LOCK_TTL_MS / 2);
    expect(await server.cli('PTTL', access.keys.metadata(group))).toBe(-1);
  });

  it('write deadlines as plain digits', async () => {
    const access = await storeAt(server.url);
    const group = await created(access);
    const reports = new Map([[ANNA, reportOf(0)]]);
    await access.store.renewLeases(group, { base: group, leaseTtlMs: 999_999_999_999_999, reports });
    expect(await server.cli('HGET', access.keys.metadata(group), 'lease:anna')).toMatch(/^1001[0-9]{12}$/);
    expect(await server.cli('HGET', access.keys.metadata(group), 'seen:anna')).toMatch(
      /^\{"receivedAtMs":[0-9]{13},/,
    );
  });

  it('keep their names in the layout of docs/protocol.md', async () => {
    const access = await storeAt(server.url);
    const group = await created(access);
    await access.store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: null });
    const name = `{${group.streamPrefix}:${group.consumerGroup}}`;
    expect((await access.client.keys('*')).sort()).toEqual([`lua:${name}:lock`, `lua:${name}:metadata`]);
    expect((await access.client.hkeys(`lua:${name}:metadata`)).sort()).toEqual([
      'aggregate',
      'layoutVersion',
      'lease:anna',
      'redisId',
      'revision',
      'schemaVersion',
      'seen:anna',
      'updatedAt',
      'writeId',
    ]);
  });

  it('are sent again after Redis lost them', async () => {
    const access = await storeAt(server.url);
    const group = await created(access);
    await server.cli('SCRIPT', 'FLUSH');
    expect(await access.store.load(group)).toMatchObject({ kind: 'LOADED' });
    await server.cli('SCRIPT', 'FLUSH');
    const outcomes = await Promise.all([1, 2, 3].map(async () => access.store.load(group)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['LOADED', 'LOADED', 'LOADED']);
    expect(access.faults).toEqual([]);
  });

  it('write nothing when Redis is full, and leave no lock behind', async () => {
    const access = await storeAt(server.url);
    const group = await created(access);
    await access.store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: null });
    const before = await hashOf(server, access.keys, group);
    await server.cli('CONFIG', 'SET', 'maxmemory', '1');
    const commit = commitOf(group, successorOf(group, Date.now()), 't', {
      leaseChanges: leasesOf([ANNA], Date.now() + 99_000),
    });
    const full = { code: 'METADATA_STORE_UNAVAILABLE', fault: 'OUT_OF_MEMORY', retryable: true };
    await expect(access.store.commitAndUnlock(group, commit)).rejects.toMatchObject(full);
    const reports = new Map([[ANNA, reportOf(0)]]);
    await expect(
      access.store.renewLeases(group, { base: group, leaseTtlMs: 1, reports }),
    ).rejects.toMatchObject(full);
    const request = { token: 'u', lockTtlMs: LOCK_TTL_MS, known: null };
    await expect(access.store.lockAndLoad(group, request)).rejects.toMatchObject(full);
    const pass = {
      coordinatorId: 'a',
      outageAfterMs: 1,
      leaseTtlMs: 1,
      clockJumped: false,
      hasPassed: false,
      limit: 1,
    };
    const loop = new RedisLoopStore(access.lua, access.commands, access.keys, new FixedIdentity());
    await expect(loop.pass(pass)).rejects.toMatchObject(full);
    expect(await hashOf(server, access.keys, group)).toBe(before);
    expect(await server.cli('EXISTS', access.keys.lock(group))).toBe(0);
    await server.cli('CONFIG', 'SET', 'maxmemory', '0');
    expect(await access.store.lockAndLoad(group, request)).toMatchObject({ kind: 'LOADED' });
  });

  it.each([
    ['a command of the commit', 'nohdel'],
    ['a command of the load', 'nohkeys'],
  ])('write nothing without the permission for %s, and leave no lock behind', async (_what, user) => {
    const admin = await storeAt(limited.url);
    const group = await created(admin);
    const before = await hashOf(limited, admin.keys, group);
    const denied = await storeAt(`redis://${user}:x@127.0.0.1:${limited.port}`);
    const section = async (): Promise<void> => {
      await denied.store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: group });
      await denied.store.commitAndUnlock(group, commitOf(group, successorOf(group, Date.now()), 't'));
    };
    await expect(section()).rejects.toMatchObject({ fault: 'NOT_PERMITTED', retryable: false });
    expect(await hashOf(limited, admin.keys, group)).toBe(before);
    expect(await limited.cli('EXISTS', admin.keys.lock(group))).toBe(0);
  });

  it('commit without the permission to announce it: that is only a hint', async () => {
    const admin = await storeAt(limited.url);
    const group = await created(admin);
    const mute = await storeAt(`redis://nopublish:x@127.0.0.1:${limited.port}`);
    await mute.store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: group });
    const next = successorOf(group, Date.now());
    const outcome = await mute.store.commitAndUnlock(group, commitOf(group, next, 't', { announce: true }));
    expect(outcome).toMatchObject({ kind: 'COMMITTED' });
    expect(await admin.store.load(group)).toMatchObject({ metadata: next });
  });

  it('say of a key of another type that it is corrupt, and do not touch it', async () => {
    const access = await storeAt(server.url);
    const group = groupOf(freshKey(), [ANNA], Date.now());
    await server.cli('SET', access.keys.metadata(group), 'text');
    const request = { token: 't', lockTtlMs: LOCK_TTL_MS, known: null };
    expect(await access.store.lockAndLoad(group, request)).toMatchObject({ kind: 'CORRUPT' });
    expect(await access.store.load(group)).toMatchObject({ kind: 'CORRUPT' });
    const reports = new Map([[ANNA, reportOf(0)]]);
    expect(await access.store.renewLeases(group, { base: group, leaseTtlMs: 1, reports })).toEqual({
      kind: 'STALE',
    });
    await server.cli('SET', access.keys.lock(group), 't');
    const commit = commitOf(null, group, 't', { leaseChanges: new Map([[ANNA, epochMillis(1)]]) });
    expect(await access.store.commitAndUnlock(group, commit)).toEqual({ kind: 'REVISION_CONFLICT' });
    expect(await server.cli('GET', access.keys.metadata(group))).toBe('text');
  });

  it('take two round trips for a section, and one for a batch of renewals', async () => {
    const access = await storeAt(server.url);
    const group = await created(access, 64);
    await access.store.load(group); // every script is loaded by now but the renewal
    await access.store.renewLeases(group, { base: group, leaseTtlMs: 1, reports: new Map() });
    await server.cli('CONFIG', 'RESETSTAT');
    await access.store.lockAndLoad(group, { token: 't', lockTtlMs: LOCK_TTL_MS, known: group });
    await access.store.commitAndUnlock(group, commitOf(group, successorOf(group, Date.now()), 't'));
    const calls = async (): Promise<string | undefined> =>
      /cmdstat_evalsha:calls=([0-9]+)/.exec(String(await server.cli('INFO', 'commandstats')))?.[1];
    expect(await calls()).toBe('2');
    const after = await access.store.load(group);
    if (after.kind !== 'LOADED') throw new Error(after.kind);
    await server.cli('CONFIG', 'RESETSTAT');
    const reports = new Map([...group.members.keys()].map((id) => [id, reportOf(0)]));
    const renewed = await access.store.renewLeases(group, {
      base: after.metadata,
      leaseTtlMs: 60_000,
      reports,
    });
    expect(renewed.kind === 'RENEWED' ? renewed.renewed.size : 0).toBe(64);
    expect(await calls()).toBe('1');
  });
});

/** Fields with their values: the order in which Redis lists them is its own. */
function pairsOf(flat: readonly string[]): string[] {
  const pairs: string[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) pairs.push(`${flat[index]}=${flat[index + 1]}`);
  return pairs;
}
