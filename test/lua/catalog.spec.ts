import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { InvariantViolationError } from '../../src/domain/assert';
import { epochMillis } from '../../src/domain/time';
import {
  arityOfHeader,
  LUA_SCRIPTS,
  LuaCatalogError,
  readLuaCatalog,
  type LuaScriptName,
} from '../../src/redis/lua-catalog';
import { LuaRunner } from '../../src/redis/lua-runner';
import type { RedisArgument, RedisCommands } from '../../src/redis/redis-commands';
import { CoordinatorKeys } from '../../src/store/redis/coordinator-keys';
import { RedisGroupIndex, RedisLoopStore } from '../../src/store/redis/redis-group-index';
import { RedisMetadataStore } from '../../src/store/redis/redis-metadata-store';
import { RedisStreamRegistry } from '../../src/store/redis/redis-stream-registry';
import { freshKey, groupOf, leasesOf, memberId, reportOf } from '../contract/group-fixtures';
import { FixedIdentity } from '../contract/redis-harness';
import { commitOf } from '../contract/store-harness';

const LUA = join(__dirname, '..', '..', 'lua');
const FOLDERS = ['section', 'lease', 'group', 'loop'];
const NAMES = Object.keys(LUA_SCRIPTS) as LuaScriptName[];
const textOf = (name: string): string => readFileSync(join(LUA, `${name}.lua`), 'utf8');

function numbersOf(kind: 'KEYS' | 'ARGV', text: string): number[] {
  return [...text.matchAll(new RegExp(`${kind}\\[([0-9]+)`, 'g'))].map((match) => Number(match[1]));
}

describe('the catalog of Lua scripts', () => {
  it('names every script of the coordinator, and no other', () => {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(join(LUA, folder)).map((file) => `${folder}/${file.replace(/\.lua$/, '')}`),
    );
    expect(files.sort()).toEqual([...NAMES].sort());
  });

  it.each(NAMES)('agrees with the numbered header of %s', (name) => {
    expect(arityOfHeader(textOf(name))).toEqual(LUA_SCRIPTS[name]);
  });

  it.each(NAMES)(
    'has a header in %s that numbers every key and argument that the body uses, in order',
    (name) => {
      const text = textOf(name);
      const bodyStart = text.search(/^[^-\n]/m);
      for (const kind of ['KEYS', 'ARGV'] as const) {
        const declared = [...text.slice(0, bodyStart).matchAll(new RegExp(`^-- ${kind}\\[([0-9]+)`, 'gm'))];
        const numbers = declared.map((match) => Number(match[1]));
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        const used = new Set(numbersOf(kind, text.slice(bodyStart)));
        expect([...used].filter((number) => !numbers.includes(number))).toEqual([]);
      }
    },
  );

  it.each(NAMES)('has a header in %s that says what is returned and why it is atomic', (name) => {
    const header = textOf(name).split('\n\n')[0] ?? '';
    expect(header).toMatch(/^-- Returns /m);
    expect(header).toMatch(/^-- Atomic because /m);
  });

  it('reads a group the same way with and without lock', () => {
    const block = (name: string): string =>
      textOf(name).split('-- <<< read-group')[0]!.split('-- >>> read-group')[1]!.replace(/^.*\n/, '');
    expect(block('section/load')).toBe(block('section/lock-and-load'));
    expect(block('section/load').length).toBeGreaterThan(500);
  });

  it('lists every fault of a folder at once', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lua-'));
    try {
      for (const name of NAMES.filter((each) => each !== 'section/unlock')) {
        const file = join(folder, `${name}.lua`);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, name === 'loop/pass' ? '-- KEYS[1]  hash\nreturn 1\n' : textOf(name));
      }
      const read = (): unknown => readLuaCatalog(folder);
      expect(read).toThrow(LuaCatalogError);
      expect(read).toThrow(/section\/unlock\.lua is missing.*|loop\/pass\.lua takes other/);
      try {
        read();
      } catch (error) {
        expect((error as LuaCatalogError).faults).toHaveLength(2);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the calls of the adapters', () => {
  it('reach every script of the catalog with as many keys and arguments as it takes', async () => {
    const catalog = readLuaCatalog();
    const called = new Set<string>();
    const commands = {
      call: async (
        operation: string,
        _command: string,
        _sha: RedisArgument,
        keys: RedisArgument,
      ): Promise<unknown> => {
        called.add(operation);
        expect(keys).toBe(LUA_SCRIPTS[operation as LuaScriptName].keys);
        return operation === 'lease/renew-leases' ? ['STALE'] : ['MISSING', '1'];
      },
    };
    const recorded = commands as unknown as RedisCommands;
    const lua = new LuaRunner(recorded, catalog);
    const keys = new CoordinatorKeys('test');
    const store = new RedisMetadataStore(lua, recorded, keys, new FixedIdentity());
    const key = freshKey();
    const anna = memberId('anna');
    const group = groupOf(key, [anna], 1_000);
    await store.lockAndLoad(key, { token: 't', lockTtlMs: 1, known: group });
    await store.load(key);
    await store.unlock(key, 't');
    await store.renewLeases(key, { base: group, leaseTtlMs: 1, reports: new Map([[anna, reportOf(1)]]) });
    const commit = commitOf(group, group, 't', { leaseChanges: leasesOf([anna], 1) });
    await expect(store.commitAndUnlock(key, commit)).rejects.toMatchObject({ fault: 'UNEXPECTED' });
    await new RedisGroupIndex(lua, recorded, keys).postpone(key, epochMillis(1), epochMillis(2));
    const pass = {
      coordinatorId: 'a',
      outageAfterMs: 1,
      leaseTtlMs: 1,
      clockJumped: false,
      hasPassed: false,
      limit: 1,
    };
    await new RedisLoopStore(lua, recorded, keys, new FixedIdentity()).pass(pass);
    await new RedisStreamRegistry(lua, recorded, keys).save('orders', null, {
      shardCount: 1,
      consumerGroups: ['a'],
      formerLives: new Map(),
    });
    expect([...called].sort()).toEqual([...NAMES].sort());
  });

  it('are refused as a defect when their number is wrong', async () => {
    const lua = new LuaRunner({} as unknown as RedisCommands, readLuaCatalog());
    await expect(lua.run('section/unlock', ['a', 'b'], ['t'])).rejects.toThrow(InvariantViolationError);
    await expect(lua.run('section/unlock', ['a'], [])).rejects.toThrow(InvariantViolationError);
    await expect(lua.run('lease/renew-leases', ['a'], [1, 2])).rejects.toThrow(InvariantViolationError);
  });
});
