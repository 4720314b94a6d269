import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const FOLDERS = ['src', 'test/simulation'];

/** As jest compiles them: Nest's injection, which some classes under test carry, depends on the metadata. */
const COMPILER_OPTIONS = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
    target: 'es2022',
  },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};

/** Compiles the simulation and what it tests into a folder of this process. @returns what to import, and what a worker runs. */
export function compileSimulation() {
  // Below node_modules, so that packages are found from there, and git does not see it.
  const out = join(root, 'node_modules', '.cache', 'simulation', String(process.pid));
  rmSync(out, { recursive: true, force: true });
  process.once('exit', () => rmSync(out, { recursive: true, force: true }));
  for (const folder of FOLDERS) compileFolder(join(root, folder), join(out, folder));
  return {
    entry: pathToFileURL(join(out, 'test', 'simulation', 'schedule.js')).href,
    faults: pathToFileURL(join(out, 'test', 'simulation', 'faults.js')).href,
    worker: new URL('./worker.mjs', import.meta.url),
  };
}

function compileFolder(from, to) {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.name.endsWith('.spec.ts')) continue;
    const source = join(entry.parentPath ?? entry.path, entry.name);
    const target = join(to, relative(from, source)).replace(/\.ts$/, '.js');
    const { code } = transformSync(readFileSync(source, 'utf8'), { ...COMPILER_OPTIONS, filename: source });
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, code);
  }
}
