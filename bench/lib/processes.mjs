/**
 * Processes of a benchmark: servers, load generators and baselines run in processes of their own, so that nothing measured
 * shares an event loop with what measures it. A worker script calls `serve(handlers)`; the benchmark calls `worker.ask`.
 */
import { fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const STOP_DEADLINE_MS = 5_000;
const OUTPUT_KEPT_CHARACTERS = 4_000;
/** Of the kernel: USER_HZ, in which /proc tells CPU time. 100 on every Linux that Node runs on. */
const CLOCK_TICKS_PER_SECOND = 100;
const CPU_FIELDS_AFTER_NAME = { user: 11, system: 12 };

const root = fileURLToPath(new URL('../../', import.meta.url));
const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** What a child inherits: no setting of the caller's shell may change what is measured. */
function environmentOf(extra) {
  const { PATH, HOME, REDIS_SERVER_BIN } = process.env;
  const inherited = { PATH, HOME, ...(REDIS_SERVER_BIN === undefined ? {} : { REDIS_SERVER_BIN }) };
  return { ...inherited, NODE_ENV: 'production', ...extra };
}

/** Starts a worker, a script of bench/; `ask(kind, payload)` runs one of its handlers and resolves to what that returns. */
export async function startWorker(script, { environment = {}, execArgv = [] } = {}) {
  const child = fork(`${root}bench/${script}`, [], {
    cwd: root,
    env: environmentOf(environment),
    execArgv,
    serialization: 'advanced',
  });
  track(child);
  const waiting = new Map();
  let lastId = 0;
  const ready = new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => {
      const error = new Error(`bench/${script} ended with ${code}`);
      reject(error);
      for (const { reject: fail } of waiting.values()) fail(error);
    });
  });
  child.on('message', ({ id, result, failure }) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (failure !== undefined) asked?.reject(new Error(`bench/${script}: ${failure}`));
    else asked?.resolve(result);
  });
  await ready;
  return {
    pid: child.pid,
    ask: (kind, payload = {}) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        waiting.set(lastId, { resolve, reject });
        child.send({ id: lastId, kind, payload });
      }),
    stop: () => stopChild(child),
  };
}

/** In a worker: answers what the benchmark asks, one handler per kind. */
export function serve(handlers) {
  process.on('message', async ({ id, kind, payload }) => {
    try {
      process.send({ id, result: await handlers[kind](payload) });
    } catch (error) {
      process.send({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once('disconnect', () => process.exit(0));
  process.send({ id: 0 });
}

/** Starts a program that is no worker; its output is kept for the error message when it fails. */
export function startProgram(command, programArguments, environment) {
  const child = spawn(command, programArguments, {
    cwd: root,
    env: environmentOf(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  track(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream
      .setEncoding('utf8')
      .on('data', (text) => (output = (output + text).slice(-OUTPUT_KEPT_CHARACTERS)));
  }
  return {
    pid: child.pid,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    output: () => output,
    stop: () => stopChild(child),
  };
}

function track(child) {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

async function stopChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(timer);
}

/** CPU time a process has used so far, milliseconds; null where /proc does not tell. */
export function cpuMsOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[CPU_FIELDS_AFTER_NAME.user]) + Number(fields[CPU_FIELDS_AFTER_NAME.system]);
    return (ticks / CLOCK_TICKS_PER_SECOND) * 1_000;
  } catch {
    return null;
  }
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

const POLL_INTERVAL_MS = 10;

/** Polls until the condition resolves to something truthy, and returns that. Throws after the deadline. */
export async function waitUntil(what, deadlineMs, condition) {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const outcome = await condition();
    if (outcome) return outcome;
    if (performance.now() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}
