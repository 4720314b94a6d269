import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { WORLDS } from './exploration/worlds';
import { FAULT_KINDS } from './simulation/faults';

const root = join(__dirname, '..');
const PAGE = 'docs/failure-modes.md';
const PRIORITY_SECTION = 'Priority scenarios';
const PRIORITY_COUNT = 11;
/** What names a test: the first argument of these, or the value of this property where tests are made of a list. */
const TEST_FUNCTIONS = new Set(['it', 'describe', 'test']);
const TITLE_PROPERTY = 'promise';

type Row = { readonly section: string; readonly failure: string; readonly proof: string };
/** `title` must be that of a test in the file that `label` stands for. */
type Link = { readonly title: string; readonly label: string };

/** The rows of all tables: what fails first, the proof last. */
function rowsOf(page: string): Row[] {
  const rows: Row[] = [];
  let section = '';
  const lines = page.split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.startsWith('## ')) section = line.slice(3);
    const isHead = lines[i + 1]?.startsWith('|---') === true;
    if (!line.startsWith('| ') || isHead) continue;
    const cells = line.slice(1, -1).split('|');
    rows.push({ section, failure: cells[0]?.trim() ?? '', proof: cells.at(-1)?.trim() ?? '' });
  }
  return rows;
}

function linksOf({ proof }: Row): Link[] {
  return [...proof.matchAll(/\[([^\]]+)\]\[([^\]]+)\]/g)].map(([, title = '', label = '']) => ({
    title,
    label,
  }));
}

/** The labels of the page, each with the file it stands for. */
function filesOf(page: string): Map<string, string> {
  const definitions = [...page.matchAll(/^\[([^\]]+)\]: (\S+)$/gm)];
  return new Map(
    definitions.map(([, label = '', path = '']) => [label, posix.join(posix.dirname(PAGE), path)]),
  );
}

/** Titles as they are written: with placeholders, not filled in. */
function titlesIn(path: string): Set<string> {
  const titles = new Set<string>();
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    const title = titleNode(node);
    if (title !== undefined && ts.isStringLiteralLike(title)) titles.add(title.text);
    if (title !== undefined && ts.isTemplateExpression(title)) titles.add(title.getText().slice(1, -1));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

function titleNode(node: ts.Node): ts.Node | undefined {
  if (ts.isPropertyAssignment(node) && node.name.getText() === TITLE_PROPERTY) return node.initializer;
  if (!ts.isCallExpression(node)) return undefined;
  return TEST_FUNCTIONS.has(calledName(node.expression)) ? node.arguments[0] : undefined;
}

/** `it` of `it(...)`, `it.each(...)(...)` and `it.each<Type>(...)(...)`. */
function calledName(called: ts.Expression): string {
  if (ts.isIdentifier(called)) return called.text;
  if (ts.isCallExpression(called) || ts.isPropertyAccessExpression(called))
    return calledName(called.expression);
  return '';
}

function knownTokens(): Set<string> {
  const mutants = readFileSync(join(root, 'scripts/mutants/list.mjs'), 'utf8');
  return new Set([
    ...[...mutants.matchAll(/^ {4}name: '([^']+)'/gm)].map(([, name]) => `mutant ${name}`),
    ...WORLDS.map(({ name }) => `world ${name}`),
    ...FAULT_KINDS.map((kind) => `fault ${kind}`),
  ]);
}

/** Everything that the page names and that is not there, or that nothing proves. */
function faultsOf(page: string): string[] {
  const faults: string[] = [];
  const files = filesOf(page);
  const titles = new Map<string, Set<string>>();
  for (const [label, path] of files) {
    if (existsSync(join(root, path))) titles.set(label, titlesIn(join(root, path)));
    else faults.push(`there is no file ${path}`);
  }
  const known = knownTokens();
  const used = new Set<string>();
  for (const row of rowsOf(page)) {
    const links = linksOf(row);
    if (links.length === 0) faults.push(`no test proves: ${row.failure}`);
    for (const { title, label } of links) {
      used.add(label);
      if (titles.get(label)?.has(title) !== true) faults.push(`no test of ${label} is called: ${title}`);
    }
    for (const [, token = ''] of row.proof.matchAll(/`((?:mutant|world|fault) [^`]+)`/g))
      if (!known.has(token)) faults.push(`there is no ${token}`);
  }
  for (const label of files.keys()) if (!used.has(label)) faults.push(`nothing refers to ${label}`);
  return faults;
}

describe('docs/failure-modes.md', () => {
  const page = readFileSync(join(root, PAGE), 'utf8');

  it('names for every failure a test that exists under exactly that title', () => {
    expect(faultsOf(page)).toEqual([]);
    expect(rowsOf(page).length).toBeGreaterThan(100);
  });

  it('has every priority scenario', () => {
    const rows = rowsOf(page).filter(({ section }) => section === PRIORITY_SECTION);
    expect(rows).toHaveLength(PRIORITY_COUNT);
    const titles = rows.flatMap((row) => linksOf(row).map(({ title }) => title));
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('has no failure twice in a section', () => {
    const failures = rowsOf(page).map(({ section, failure }) => `${section}: ${failure}`);
    expect(failures.filter((failure, i) => failures.indexOf(failure) !== i)).toEqual([]);
  });
});

describe('the check of the page', () => {
  const THIS = '../test/failure-modes.spec.ts';
  const pageOf = (proof: string, definitions: string): string =>
    `## A\n\n| failure | must hold | proof |\n|---|---|---|\n| it breaks | it goes on | ${proof} |\n\n${definitions}\n`;

  it.each([
    ['nothing wrong', '[has every priority scenario][t], `world 2x2`', `[t]: ${THIS}`, []],
    ['no test', '`world 2x2`', '', ['no test proves: it breaks']],
    ['another title', '[has it all][t]', `[t]: ${THIS}`, ['no test of t is called: has it all']],
    [
      'no such file',
      '[has every priority scenario][t]',
      '[t]: ../test/gone.spec.ts',
      ['there is no file test/gone.spec.ts', 'no test of t is called: has every priority scenario'],
    ],
    ['no such world', '[sees in a page: %s][t] `world 9x9`', `[t]: ${THIS}`, ['there is no world 9x9']],
    [
      'a file that nothing refers to',
      '[sees in a page: %s][t]',
      `[t]: ${THIS}\n[u]: ${THIS}`,
      ['nothing refers to u'],
    ],
  ])('sees in a page: %s', (_case, proof, definitions, faults) => {
    expect(faultsOf(pageOf(proof, definitions))).toEqual(faults);
  });
});
