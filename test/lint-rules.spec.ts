import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { plantTree, type PlantedTree } from './support/planted-tree';
import { lint, type ToolFinding } from './support/rule-tools';

const statements = (count: number): string => '  list.push(1);\n'.repeat(count);
const functionOfLines = (lines: number): string =>
  `export function fill(list: number[]): void {\n${statements(lines - 2)}}\n`;

const TYPE_ONLY_DTO = `import { Body, Controller, Post } from '@nestjs/common';
import type { JoinDto } from './join.dto';

@Controller()
export class JoinController {
  @Post()
  join(@Body() body: JoinDto): JoinDto {
    return body;
  }
}
`;

const INJECTED_CLASS = `import { Injectable } from '@nestjs/common';
import { Clock } from './clock';

@Injectable()
export class Ticker {
  constructor(private readonly clock: Clock) {}

  tick(): number {
    return this.clock.nowMs();
  }
}
`;

const FILES: Readonly<Record<string, string>> = {
  'src/default-export.ts': 'const value = 1;\nexport default value;\n',
  'src/floating-promise.ts': 'export function start(work: () => Promise<void>): void {\n  work();\n}\n',
  'src/voided-promise.ts': 'export function start(work: () => Promise<void>): void {\n  void work();\n}\n',
  'src/value-import.ts':
    "import { Clock } from './clock';\nexport type Holder = { readonly clock: Clock };\n",
  'src/any.ts': 'export function read(value: any): string {\n  return value.name;\n}\n',
  'src/join.dto.ts': "export class JoinDto {\n  readonly name: string = '';\n}\n",
  'src/join.controller.ts': TYPE_ONLY_DTO,
  'src/long-function.ts': functionOfLines(71),
  'test/unit/skipped.spec.ts': "import { it } from '@jest/globals';\nit.skip('waits', () => undefined);\n",
  // None of these is to be found.
  'src/clock.ts': 'export class Clock {\n  nowMs(): number {\n    return 1;\n  }\n}\n',
  'src/ticker.ts': INJECTED_CLASS,
  'src/full-function.ts': functionOfLines(70),
};

describe('the lint rules', () => {
  let planted: PlantedTree;
  let findings: ToolFinding[];

  beforeAll(async () => {
    planted = plantTree(join(__dirname, '..'), FILES);
    findings = await lint(planted.root);
  });

  afterAll(() => {
    planted.remove();
  });

  const rulesFoundIn = (file: string): string[] =>
    findings.filter((finding) => finding.file === file).map((finding) => finding.rule);

  it.each([
    ['src/default-export.ts', 'no-restricted-syntax'],
    ['src/floating-promise.ts', '@typescript-eslint/no-floating-promises'],
    ['src/value-import.ts', '@typescript-eslint/consistent-type-imports'],
    ['src/any.ts', '@typescript-eslint/no-explicit-any'],
    ['src/join.controller.ts', 'no-restricted-syntax'],
    ['src/long-function.ts', 'max-lines-per-function'],
    ['test/unit/skipped.spec.ts', 'no-restricted-syntax'],
  ])('find in %s a violation of %s', (file, rule) => {
    expect(rulesFoundIn(file)).toContain(rule);
  });

  it('do not take `void` for an answer to a floating promise', () => {
    expect(rulesFoundIn('src/voided-promise.ts')).toContain('@typescript-eslint/no-floating-promises');
  });

  it.each(['src/clock.ts', 'src/ticker.ts', 'src/full-function.ts', 'src/join.dto.ts'])(
    'find nothing in %s',
    (file) => {
      expect(findings.filter((finding) => finding.file === file)).toEqual([]);
    },
  );
});
