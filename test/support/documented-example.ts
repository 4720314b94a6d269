import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { startWatchdog } from './watchdog';

/** What an application that uses the examples has installed besides. */
const PEERS = ['@nestjs', 'reflect-metadata', 'rxjs'];
const ROOT = join(__dirname, '..', '..');

/** The code blocks of a page that are to be run: those whose fence names them, as in "```ts consumer". */
export function documentedExamples(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const examples = new Map<string, string>();
  for (const [, name, code] of text.matchAll(/^```ts (\w+)\n([\s\S]*?)^```$/gm)) {
    if (name !== undefined && code !== undefined) examples.set(name, code);
  }
  return examples;
}

/** An example as a reader would run it: a module of its own that imports the built package by its name. */
export class RunningExample {
  output = '';
  exitCode: number | null = null;
  private readonly child: ChildProcess;
  private readonly folder: string;
  private readonly watchdog: ChildProcess;

  /** `addresses`: what stands in the page -> what is used here. Each must occur. */
  constructor(code: string, addresses: Readonly<Record<string, string>>) {
    // As where the package is installed.
    this.folder = mkdtempSync(join(tmpdir(), 'example-'));
    mkdirSync(join(this.folder, 'node_modules'));
    symlinkSync(ROOT, join(this.folder, 'node_modules', 'redis-stream-coordinator'));
    for (const name of PEERS)
      symlinkSync(join(ROOT, 'node_modules', name), join(this.folder, 'node_modules', name));
    const file = join(this.folder, 'example.mjs');
    writeFileSync(file, toJavaScript(withAddresses(code, addresses)));
    this.child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.watchdog = startWatchdog(this.child.pid ?? 0);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.child.once('exit', (code_) => {
      this.exitCode = code_ ?? -1;
      this.watchdog.kill('SIGKILL');
    });
  }

  terminate(): void {
    this.child.kill('SIGTERM');
  }

  cleanUp(): void {
    this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** As an application's own build would: types erased, decorators with their metadata. */
function toJavaScript(code: string): string {
  return transformSync(code, {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      target: 'es2022',
    },
    module: { type: 'es6' },
  }).code;
}

function withAddresses(code: string, addresses: Readonly<Record<string, string>>): string {
  return Object.entries(addresses).reduce((text, [documented, actual]) => {
    if (!text.includes(documented)) throw new Error(`the example does not mention ${documented}`);
    return text.replaceAll(documented, actual);
  }, code);
}
