import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorBody, HeartbeatAnswer } from '../../src/protocol';
import { type Answer, call, heartbeatOf } from './coordinator-calls';
import { waitUntil } from './redis-server';
import { startWatchdog } from './watchdog';

/** A line that the coordinator logged. */
export type LogLine = Readonly<Record<string, unknown>>;

/** How a process ended, and when, on the clock of `performance.now()`. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly atMs: number;
}

/** What the tests of faults run with: short times that keep the proportions of the defaults. */
export const PROCESS_TIMING = {
  leaseTtlMs: 1_500,
  heartbeatIntervalMs: 300,
  tickIntervalMs: 100,
  lockTtlMs: 1_000,
  shutdownGraceMs: 4_000,
} as const;

const MAIN = join(__dirname, '..', '..', 'dist', 'main.js');
const LISTEN_DEADLINE_MS = 30_000;
const READY_DEADLINE_MS = 10_000;
const END_DEADLINE_MS = 10_000;

const ENVIRONMENT: Readonly<Record<string, string>> = {
  PORT: '0',
  LOG_LEVEL: 'info',
  COORD_MEMBER_LEASE_TTL_MS: String(PROCESS_TIMING.leaseTtlMs),
  COORD_HEARTBEAT_INTERVAL_MS: String(PROCESS_TIMING.heartbeatIntervalMs),
  COORD_REBALANCE_TIMEOUT_MS: '5000',
  COORD_TICK_INTERVAL_MS: String(PROCESS_TIMING.tickIntervalMs),
  COORD_LOCK_TTL_MS: String(PROCESS_TIMING.lockTtlMs),
  SHUTDOWN_GRACE_MS: String(PROCESS_TIMING.shutdownGraceMs),
};

let lastCoordinator = 0;

/** Starts `node dist/main.js` and resolves once it listens; whether Redis can be reached is another matter. */
export async function startCoordinatorProcess(
  redisUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<CoordinatorProcess> {
  const coordinator = spawnCoordinator(redisUrl, environment);
  try {
    await waitUntil('the coordinator listens', LISTEN_DEADLINE_MS, () => {
      if (coordinator.end !== null) throw new Error(`the coordinator ended: ${coordinator.stderr}`);
      return coordinator.hasListened;
    });
  } catch (failure) {
    await coordinator.stop();
    throw failure;
  }
  return coordinator;
}

/** The same without waiting for anything: for starts that are to fail. */
export function spawnCoordinator(
  redisUrl: string,
  environment: Readonly<Record<string, string>> = {},
): CoordinatorProcess {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: npm run build`);
  const { PATH, HOME } = process.env; // nothing else of the caller's shell may change what is tested
  lastCoordinator += 1;
  const own = { PATH, HOME, NODE_ENV: 'production', COORD_ID: `coordinator-${lastCoordinator}` };
  const child = spawn(process.execPath, [MAIN], {
    env: { ...own, ...ENVIRONMENT, REDIS_URL: redisUrl, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new CoordinatorProcess(child);
}

/** A coordinator in a process of its own. A watchdog kills it when this process ends. */
export class CoordinatorProcess {
  readonly log: LogLine[] = [];
  stderr = '';
  end: ProcessEnd | null = null;
  private url = '';
  private readonly watchdog: ChildProcess;

  constructor(private readonly child: ChildProcess) {
    this.watchdog = startWatchdog(this.pid);
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.readLine(line);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    child.once('exit', (code, signal) => {
      this.end = { code, signal, atMs: performance.now() };
      this.watchdog.kill('SIGKILL');
    });
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('the coordinator did not start');
    return pid;
  }

  get hasListened(): boolean {
    return this.url !== '';
  }

  get baseUrl(): string {
    return this.url;
  }

  call(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Answer> {
    return call(this.url, method, path, body, init);
  }

  async readiness(): Promise<Answer> {
    return this.call('GET', '/health/ready');
  }

  /** Polls until /health/ready answers with this status. */
  async waitForReadiness(status: 200 | 503, deadlineMs: number = READY_DEADLINE_MS): Promise<void> {
    await waitUntil(
      `readiness ${status}`,
      deadlineMs,
      async () => (await this.readiness()).status === status,
    );
  }

  /** Repeats what may be repeated: a busy machine is no reason to fail. */
  async createGroup({ streamPrefix, consumerGroup }: GroupName, initialShardCount = 4): Promise<void> {
    const path = `/coord/v1/streams/${streamPrefix}/groups/${consumerGroup}`;
    await waitUntil('the group is created', READY_DEADLINE_MS, async () => {
      const { status, body } = await this.call('POST', path, { initialShardCount, requestedBy: 'test' });
      const { errorCode } = body as Partial<ErrorBody>;
      // The answer to an attempt before may have been lost.
      if (status === 201 || errorCode === 'GROUP_ALREADY_EXISTS') return true;
      if (status !== 503 && status !== 409) throw new Error(`no group: ${status} ${JSON.stringify(body)}`);
      return false;
    });
  }

  /** One heartbeat; without `tenure` it joins. */
  heartbeat(
    { streamPrefix, consumerGroup }: GroupName,
    memberId: string,
    tenure: Readonly<Record<string, unknown>> = {},
  ): Promise<Answer> {
    const path = `/coord/v1/streams/${streamPrefix}/groups/${consumerGroup}/members/${memberId}/heartbeat`;
    return this.call('POST', path, heartbeatOf(memberId, tenure));
  }

  /** SIGSTOP: the port still takes connections and nothing is answered. */
  freeze(): void {
    this.signal('SIGSTOP');
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  terminate(): void {
    this.signal('SIGTERM');
  }

  /** SIGKILL, and waits for the end. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended();
  }

  async ended(deadlineMs: number = END_DEADLINE_MS): Promise<ProcessEnd> {
    await waitUntil('the coordinator has ended', deadlineMs, () => this.end !== null);
    return this.end!;
  }

  /** For the end of a test: ends it however it is. */
  async stop(): Promise<void> {
    if (this.end === null) await this.kill();
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.end === null) this.child.kill(signal);
  }

  private readLine(text: string): void {
    if (text === '') return;
    let line: LogLine;
    try {
      line = JSON.parse(text) as LogLine;
    } catch {
      throw new Error(`the coordinator logged a line that is not JSON: ${text}`);
    }
    this.log.push(line);
    if (line['message'] === 'listening') this.url = String(line['url']);
  }
}

export interface GroupName {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
}

export function answerOf(answer: Answer): HeartbeatAnswer {
  return answer.body as HeartbeatAnswer;
}
