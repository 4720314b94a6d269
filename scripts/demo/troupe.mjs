// The processes of the demo and their folder. Whatever happens to this process, all of them end and the folder goes.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const END_DEADLINE_MS = 15_000;
const POLL_MS = 25;
const TAIL_CHARACTERS = 2_000;

export class Troupe {
  #processes = new Set();
  #watchdog;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'redis-stream-demo-'));
    const script = fileURLToPath(new URL('watchdog.mjs', import.meta.url));
    // In a process group of its own: a Ctrl-C in the terminal must not reach it.
    this.#watchdog = spawn(process.execPath, [script], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#watchdog.stdin.on('error', () => undefined);
    this.#watchdog.unref();
    this.#tell(`folder ${this.folder}`);
  }

  /** Starts a process whose output goes into `<name>.out` in the folder. With `talks` it has an IPC channel. */
  start(name, command, commandArguments, { environment = {}, talks = false } = {}) {
    const outputFile = join(this.folder, `${name}.out`);
    const output = openSync(outputFile, 'a');
    const stdio = talks ? ['ignore', output, output, 'ipc'] : ['ignore', output, output];
    const child = spawn(command, commandArguments, {
      stdio,
      cwd: this.folder,
      env: { ...process.env, ...environment },
    });
    closeSync(output);
    const member = { name, child, outputFile, failure: null, ended: null };
    member.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', (error) => {
        member.failure = error;
        resolve({ code: null, signal: null });
      });
    });
    this.#processes.add(member);
    if (child.pid !== undefined) this.#tell(`watch ${child.pid}`);
    void member.ended.then(() => {
      this.#processes.delete(member);
      if (child.pid !== undefined) this.#tell(`forget ${child.pid}`);
    });
    return member;
  }

  /** SIGTERM, and SIGKILL if that does not do. */
  async stop(member, deadlineMs = END_DEADLINE_MS) {
    member.child.kill('SIGTERM');
    const timer = setTimeout(() => member.child.kill('SIGKILL'), deadlineMs);
    const result = await member.ended;
    clearTimeout(timer);
    return result;
  }

  async kill(member) {
    member.child.kill('SIGKILL');
    return member.ended;
  }

  /** Kills what still runs and has the folder removed. */
  async end() {
    await Promise.all([...this.#processes].map((member) => this.kill(member)));
    const ended = new Promise((resolve) => this.#watchdog.once('exit', resolve));
    this.#watchdog.ref();
    this.#watchdog.stdin.end();
    await ended;
  }

  #tell(line) {
    this.#watchdog.stdin.write(`${line}\n`);
  }
}

export function tailOf(member) {
  return readFileSync(member.outputFile, 'utf8').slice(-TAIL_CHARACTERS);
}

/** Polls until `condition` gives something true, and gives that. Fails after the deadline, or when the process is gone. */
export async function until(what, deadlineMs, condition, member) {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (member !== undefined && hasEnded(member)) {
      throw new Error(`${member.name} ended while the demo waited: ${what}\n${tailOf(member)}`, {
        cause: member.failure,
      });
    }
    if (performance.now() > endMs) {
      const output = member === undefined ? '' : `\n${tailOf(member)}`;
      throw new Error(`not within ${deadlineMs} ms: ${what}${output}`);
    }
    await sleep(POLL_MS);
  }
}

export function hasEnded({ child, failure }) {
  return failure !== null || child.exitCode !== null || child.signalCode !== null;
}

export async function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
