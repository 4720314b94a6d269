import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { plantTree, type PlantedTree } from './support/planted-tree';
import { cruise, type ToolFinding } from './support/rule-tools';
import { namingViolations, sourceViolations } from './support/source-rules';

type DirectionTable = {
  readonly mayImport: Readonly<Record<string, readonly string[]>>;
  readonly ioredisHolders: readonly string[];
  readonly forbidden: readonly { readonly name: string }[];
};

const root = join(__dirname, '..');
// eslint-disable-next-line @typescript-eslint/no-require-imports -- a CommonJS configuration file without types
const { mayImport, ioredisHolders, forbidden } = require('../.dependency-cruiser.cjs') as DirectionTable;
const ruleNames = forbidden.map(({ name }) => name);

const NAMED_FOLDERS = ['src', 'test', 'bench', 'scripts', 'lua'];

let planted: PlantedTree | undefined;

afterEach(() => {
  planted?.remove();
  planted = undefined;
});

function plant(files: Readonly<Record<string, string>>): string {
  planted = plantTree(root, files);
  return planted.root;
}

describe('the architecture of src', () => {
  it('keeps the import directions', async () => {
    const { moduleCount, findings } = await cruise(root);
    expect(findings).toEqual([]);
    expect(moduleCount).toBeGreaterThan(0);
  });

  it('keeps the rules on what a file may contain', () => {
    expect(sourceViolations(root, ioredisHolders)).toEqual([]);
  });

  it('gives every file and folder a name that says what is in it', () => {
    expect(namingViolations(root, NAMED_FOLDERS)).toEqual([]);
  });

  it('has no folder that the table of import directions does not know', () => {
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.map((folder) => folder.name).filter((name) => !(name in mayImport))).toEqual([]);
  });
});

const MODULE = 'export const value = 1;\n';
const importing = (path: string): string => `import { value } from '${path}';\nexport const copy = value;\n`;

/** What each planted file imports and the rule that has to name it; undefined where nothing is wrong. */
type PlantedImport = { readonly file: string; readonly text: string; readonly rule: string | undefined };

const planting = (file: string, text: string, rule?: string): PlantedImport => ({ file, text, rule });

const TARGETS = [
  ...[
    'domain/time.ts',
    'domain/group/group.ts',
    'domain/routing/partitioner.ts',
    'protocol/wire.ts',
    'store/store.ts',
  ],
  ...[
    'redis/lua-runner.ts',
    'redis/stream.ts',
    'critical-section/mutex.ts',
    'assignment/a.ts',
    'routing/a.ts',
  ],
  ...['client/index.ts', 'client/consumer/loop.ts', 'app.module.ts'],
];

const PLANTED_IMPORTS: readonly PlantedImport[] = [
  planting('domain/group/to-shell.ts', importing('../../store/store'), 'direction-domain'),
  planting('domain/to-protocol.ts', importing('../protocol/wire'), 'direction-domain'),
  planting(
    'domain/types.ts',
    "import type { value } from '../store/store';\nexport type T = typeof value;\n",
    'direction-domain',
  ),
  planting('redis/upward.ts', importing('../store/store'), 'direction-redis'),
  planting('store/upward.ts', importing('../critical-section/mutex'), 'direction-store'),
  planting('membership/to-feature.ts', importing('../assignment/a'), 'direction-membership'),
  planting('http/to-feature.ts', importing('../routing/a'), 'direction-http'),
  planting('client/to-server.ts', importing('../redis/stream'), 'direction-client'),
  planting('client/to-group.ts', importing('../domain/group/group'), 'direction-client'),
  planting('usage/behind-the-door.ts', importing('../client/consumer/loop'), 'direction-usage'),
  planting('usage/to-stream.ts', importing('../redis/stream'), 'direction-usage'),
  planting('admin/to-the-top.ts', importing('../app.module'), 'composition-root-is-on-top'),
  planting(
    'domain/node.ts',
    "import { hostname } from 'node:os';\nexport const n = hostname();\n",
    'domain-is-pure',
  ),
  planting('protocol/package.ts', "export { IsString } from 'class-validator';\n", 'protocol-is-plain'),
  planting('client/nest.ts', "export { Module } from '@nestjs/common';\n", 'sdk-without-nest'),
  planting('store/ioredis.ts', "export { Redis } from 'ioredis';\n", 'ioredis-behind-ports'),
  planting('http/development.ts', "export { parse } from 'yaml';\n", 'shipped-dependencies-only'),
  planting('audit/cycle.ts', "export * from './cycle-back';\n", 'no-circular'),
  planting('audit/cycle-back.ts', "export * from './cycle';\n", 'no-circular'),
  planting('auth/nowhere.ts', importing('./missing'), 'resolvable'),

  planting('protocol/allowed.ts', importing('../domain/time')),
  planting('redis/allowed.ts', "export { Redis } from 'ioredis';\nexport * from '../domain/time';\n"),
  planting('store/allowed.ts', importing('../redis/stream')),
  planting('membership/allowed.ts', importing('../critical-section/mutex')),
  planting('client/allowed.ts', importing('../domain/routing/partitioner')),
  planting('usage/allowed.ts', importing('../client/index')),
  planting('usage/lua.ts', importing('../redis/lua-runner')),
  planting('main.ts', importing('./app.module')),
];

describe('the import rules', () => {
  let tree: PlantedTree;
  let findings: ToolFinding[];

  beforeAll(async () => {
    const targets = TARGETS.map((file) => [`src/${file}`, MODULE]);
    const plantedFiles = PLANTED_IMPORTS.map(({ file, text }) => [`src/${file}`, text]);
    tree = plantTree(root, Object.fromEntries([...targets, ...plantedFiles]) as Record<string, string>);
    ({ findings } = await cruise(tree.root));
  });

  afterAll(() => {
    tree.remove();
  });

  const rulesFoundIn = (file: string): string[] => [
    ...new Set(findings.filter((finding) => finding.file === `src/${file}`).map(({ rule }) => rule)),
  ];

  // dependency-cruiser reports a cycle once, at one of its members.
  const broken = PLANTED_IMPORTS.filter(({ rule }) => rule !== undefined && rule !== 'no-circular');
  it.each(broken)('find $rule in $file, and nothing else', ({ file, rule }) => {
    expect(rulesFoundIn(file)).toEqual([rule]);
  });

  it('find a cycle', () => {
    const rules = [...rulesFoundIn('audit/cycle.ts'), ...rulesFoundIn('audit/cycle-back.ts')];
    expect(new Set(rules)).toEqual(new Set(['no-circular']));
  });

  it.each(PLANTED_IMPORTS.filter(({ rule }) => rule === undefined))('let pass $file', ({ file }) => {
    expect(rulesFoundIn(file)).toEqual([]);
  });

  it('have a planted violation each', () => {
    const directions = ruleNames.filter((name) => name.startsWith('direction-'));
    const others = ruleNames.filter((name) => !name.startsWith('direction-'));
    const plantedRules = new Set(PLANTED_IMPORTS.map(({ rule }) => rule));
    expect(others.filter((name) => !plantedRules.has(name))).toEqual([]);
    expect(directions).toEqual(Object.keys(mayImport).map((folder) => `direction-${folder}`));
  });
});

describe('the rules on what a file may contain', () => {
  it.each([
    ['ioredis-behind-ports', 'store/a.ts', "import type { Redis } from 'ioredis';"],
    ['ioredis-behind-ports', 'nestjs/a.ts', "export { RedisModule } from '@liaoliaots/nestjs-redis';"],
    ['ioredis-behind-ports', 'routing/a.ts', "export const load = () => import('ioredis');"],
    ['ioredis-behind-ports', 'routing/a.ts', "export type Client = import('ioredis').Redis;"],
    ['environment-in-config', 'main.ts', 'export const port = process.env.PORT;'],
    ['environment-in-config', 'redis/a.ts', "export const port = process['env'];"],
    ['environment-in-config', 'redis/a.ts', "export { env } from 'node:process';"],
    ['no-http-exception-in-the-core', 'store/a.ts', "import { HttpException } from '@nestjs/common';"],
    ['no-http-exception-in-the-core', 'membership/membership.service.ts', 'throw new NotFoundException();'],
    ['pure-domain', 'domain/a.ts', "import 'node:crypto';"],
    ['pure-domain', 'domain/a.ts', "import { z } from 'zod';"],
    ['pure-domain', 'domain/a.ts', 'export async function load() {}'],
    ['pure-domain', 'domain/a.ts', 'export type Later = Promise<number>;'],
    ['pure-domain', 'domain/a.ts', 'export const nowMs = () => Date.now();'],
    ['pure-domain', 'domain/a.ts', 'export const die = () => Math.random();'],
    ['no-lua-in-typescript', 'redis/a.ts', "export const script = 'return redis.call(1)';"],
    ['no-lua-in-typescript', 'client/redis/a.ts', 'export const script = (n: string) => `${n} ARGV[1]`;'],
    ['file-length', 'store/a.ts', '// line\n'.repeat(301)],
  ])('find %s in %s: %s', (rule, file, text) => {
    const tree = plant({ [`src/${file}`]: text });
    const found = sourceViolations(tree, ioredisHolders);
    expect([...new Set(found.map((violation) => `${violation.rule} ${violation.file}`))]).toEqual([
      `${rule} src/${file}`,
    ]);
  });

  it('let pass the places that are meant, comments, and the neighbours of each limit', () => {
    const tree = plant({
      'src/redis/a.ts': "import { Redis } from 'ioredis';\nexport const redis = Redis;",
      'src/client/redis/a.ts': "import { Redis } from 'ioredis';\nexport const redis = Redis;",
      'src/config/a.ts': 'export const port = process.env.PORT;',
      'src/http/a.ts': "import { HttpException } from '@nestjs/common';\nexport const base = HttpException;",
      'src/admin/admin.controller.ts':
        "import { NotFoundException } from '@nestjs/common';\nexport const e = NotFoundException;",
      'src/domain/a.ts':
        '// async, Promise, Date.now()\nexport const a = (x: { process: number }) => x.process;',
      'src/redis/b.ts': '// redis.call("GET", KEYS[1])\nexport const pattern = /KEYS\\[(\\d+)\\]/;',
      'src/store/a.ts': '// line\n'.repeat(300),
    });
    expect(sourceViolations(tree, ioredisHolders)).toEqual([]);
  });

  it.each([
    'src/utils/a.ts',
    'src/store/helpers.ts',
    'test/support/redis-helper.ts',
    'src/common/a.ts',
    'lua/misc/a.lua',
  ])('find the name of %s', (file) => {
    const tree = plant({ [file]: MODULE, 'src/store/communication.ts': MODULE });
    expect(namingViolations(tree, NAMED_FOLDERS).map((violation) => violation.file)).toEqual([file]);
  });
});
