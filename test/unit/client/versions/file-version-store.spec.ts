import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fileVersionStore } from '../../../../src/client/versions/file-version-store';

let parent: string;
let directory: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'version-store-'));
  directory = join(parent, 'made', 'when-missing');
});
afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
});

const KEY = 'orders:billing';

async function onlyFile(): Promise<string> {
  const names = await readdir(directory);
  expect(names.length).toBe(1);
  return join(directory, names[0]!);
}

describe('the version store in files', () => {
  it('has nothing at first, without a directory', async () => {
    expect(await fileVersionStore(directory).load(KEY)).toBeNull();
  });

  it('gives back what was saved, to another process as well', async () => {
    await fileVersionStore(directory).save(KEY, 1_700_000_000_123);
    expect(await fileVersionStore(directory).load(KEY)).toBe(1_700_000_000_123);
    expect(await fileVersionStore(directory).load('orders:other')).toBeNull();
  });

  it('never replaces a larger version by a smaller one, whoever saved it', async () => {
    await fileVersionStore(directory).save(KEY, 10);
    const store = fileVersionStore(directory);
    await store.save(KEY, 9);
    expect(await store.load(KEY)).toBe(10);
    await store.save(KEY, 11);
    expect(await store.load(KEY)).toBe(11);
  });

  it('keeps the largest of saves that are under way together, and leaves no other file', async () => {
    const stores = [fileVersionStore(directory), fileVersionStore(directory)];
    await Promise.all(stores.flatMap((store, i) => [3, 9, 5].map(async (v) => store.save(KEY, v * 2 + i))));
    await stores[0]!.save(KEY, 19);
    expect(await stores[0]!.load(KEY)).toBe(19);
    await onlyFile();
  });

  it.each([
    ['the longest names', `${'p'.repeat(200)}:${'g'.repeat(128)}`],
    ['names of dots', '..:..'],
    ['colons', ':::a:b'],
  ])('takes %s', async (_case, key) => {
    const store = fileVersionStore(directory);
    await store.save(key, 4);
    expect(await store.load(key)).toBe(4);
    expect(await readdir(parent)).toEqual(['made']);
  });

  it('keeps names apart that differ by case alone', async () => {
    const store = fileVersionStore(directory);
    await store.save('Orders:g', 4);
    await store.save('orders:g', 5);
    const names = await readdir(directory);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(2);
    expect(await store.load('Orders:g')).toBe(4);
  });

  it.each([
    ['nothing', ''],
    ['half of it', '{"key":"orders:bil'],
    ['another key', '{"key":"orders:other","metadataVersion":5}'],
    ['no version', '{"key":"orders:billing"}'],
    ['text', '{"key":"orders:billing","metadataVersion":"5"}'],
    ['a negative', '{"key":"orders:billing","metadataVersion":-5}'],
    ['null', 'null'],
  ])('refuses to load a file that holds %s, and replaces it by the next save', async (_case, content) => {
    const store = fileVersionStore(directory);
    await store.save(KEY, 5);
    await writeFile(await onlyFile(), content);
    await expect(store.load(KEY)).rejects.toThrow('holds no version of "orders:billing"');
    await store.save(KEY, 3);
    expect(await store.load(KEY)).toBe(3);
  });

  it('refuses to save what is no version, and goes on with the next', async () => {
    const store = fileVersionStore(directory);
    await expect(store.save(KEY, Number.NaN)).rejects.toThrow('NaN is no version');
    await store.save(KEY, 3);
    expect(await store.load(KEY)).toBe(3);
  });

  it('fails, and leaves no file, where it may not write; a later save is not held up by that', async () => {
    await writeFile(join(parent, 'made'), 'a file where the directory should be');
    const store = fileVersionStore(directory);
    await expect(store.save(KEY, 3)).rejects.toThrow();
    await rm(join(parent, 'made'));
    await store.save(KEY, 4);
    expect(JSON.parse(await readFile(await onlyFile(), 'utf8'))).toEqual({ key: KEY, metadataVersion: 4 });
  });
});
