import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

const root = join(__dirname, '..', '..');

describe('faults planted into the sources', () => {
  it('are caught, as far as the sample goes, and all still apply', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['scripts/mutants.mjs', '--quick'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stdout + stderr).toMatch(/^mutants: [1-9]\d* caught, 0 survived, 0 no longer apply$/m);
  });
});
