import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import counts from './counts.json';
import { WORLDS } from './worlds';

const root = join(__dirname, '..', '..');

describe('everything that can happen in a small world', () => {
  /**
   * In processes of their own, one per core: inside of jest each look-up of a global is slow, and the memory of a world would
   * stay. A count that differs fails: a change of the protocol changes them on purpose, by `npm run explore -- --write`.
   */
  it('keeps one user per shard, and comes to rest from every state, in as many states as before', () => {
    const { stdout, stderr, status } = spawnSync(process.execPath, ['scripts/explore.mjs', '--quick'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stdout + stderr).not.toMatch(/VIOLATED|OTHER COUNTS|broke off/);
    expect(status).toBe(0);
    for (const { name } of WORLDS.filter(({ isQuick }) => isQuick)) expect(stdout).toContain(`${name} `);
    console.log(stdout);
  });

  it('has counts of every quick world, and of none that is not listed', () => {
    const counted = Object.keys(counts);
    expect(counted.filter((name) => !WORLDS.some((world) => world.name === name))).toEqual([]);
    expect(counted).toEqual(
      expect.arrayContaining(WORLDS.filter(({ isQuick }) => isQuick).map(({ name }) => name)),
    );
  });
});
