import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A small project in a temporary folder, with this project's rules and packages and the files of one test. */
export type PlantedTree = { readonly root: string; readonly remove: () => void };

const RULE_FILES = ['package.json', 'tsconfig.json', 'eslint.config.mjs', '.dependency-cruiser.cjs'];

/** Plants `files` (path from the root of the tree -> text). `projectRoot` lends its rules and its node_modules. */
export function plantTree(projectRoot: string, files: Readonly<Record<string, string>>): PlantedTree {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'planted-tree-')));
  for (const file of RULE_FILES) {
    cpSync(join(projectRoot, file), join(root, file));
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'), 'dir');
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return {
    root,
    remove: () => {
      rmSync(root, { recursive: true, force: true });
    },
  };
}
