import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startWatchdog } from './watchdog';

/**
 * A real Redis for one test file: on a free port of the loopback address, with a folder of its own that goes with it.
 * A watchdog process kills it when this process ends, however it ends.
 */
export interface RedisServerOptions {
  /** Lines of redis.conf, each as it would stand there, e.g. `maxmemory 4mb`. Later lines win over the defaults. */
  readonly config?: readonly string[];
  /** requirepass. */
  readonly password?: string;
  /** Lines of the ACL file, e.g. `user default on nopass ~* &* +@all -eval`. `cli` uses `adminUser` then, if given. */
  readonly acl?: readonly string[];
  readonly adminUser?: { readonly username: string; readonly password: string };
  readonly replicaOf?: { readonly port: number };
  /** AOF with appendfsync always, so that what was answered survives a SIGKILL. */
  readonly appendOnly?: boolean;
}

export interface RestartOptions {
  /** SIGKILL instead of SIGTERM. */
  readonly kill?: boolean;
  /** Start with an empty folder. */
  readonly wipe?: boolean;
  /** Replaces the options of the first start. */
  readonly options?: RedisServerOptions;
}

const START_ATTEMPTS = 5;
const READY_DEADLINE_MS = 15_000;
const STOP_DEADLINE_MS = 5_000;
const POLL_INTERVAL_MS = 10;
const CLI_TIMEOUT_MS = 5_000;

let binaryPath: string | undefined;

/** REDIS_SERVER_BIN, a binary on the PATH, or Debian's package, as scripts/ensure-redis.mjs decides. */
function redisBinary(): string {
  if (binaryPath !== undefined) return binaryPath;
  const script = join(__dirname, '..', '..', 'scripts', 'ensure-redis.mjs');
  const found = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  if (found.status !== 0) throw new Error(`no Redis server for the tests: ${found.stderr}`);
  binaryPath = found.stdout.trim();
  return binaryPath;
}

/** Starts a server and resolves once it answers PING. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'redis-test-'));
  let lastFailure: unknown;
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    const server = new RedisServer(await freePort(), folder, options);
    try {
      await server.start();
      return server;
    } catch (failure) {
      lastFailure = failure; // most likely the port was taken meanwhile
    }
  }
  rmSync(folder, { recursive: true, force: true });
  throw new Error('the test Redis did not start', { cause: lastFailure });
}

export class RedisServer {
  private child: ChildProcess | null = null;
  private watchdog: ChildProcess | null = null;
  private output = '';

  constructor(
    readonly port: number,
    private readonly folder: string,
    private options: RedisServerOptions,
  ) {}

  get url(): string {
    const { password } = this.options;
    const authority = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
    return `redis://${authority}127.0.0.1:${this.port}`;
  }

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error('the test Redis is not running');
    return pid;
  }

  /** What the server printed so far. */
  get log(): string {
    return this.output;
  }

  async start(): Promise<void> {
    this.output = '';
    const child = spawn(redisBinary(), [this.writeConfiguration()], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    child.on('error', (error) => (this.output += String(error)));
    this.watchdog = startWatchdog(this.pid, this.folder);
    try {
      // The log line, too: another server may answer on a port that ours could not bind.
      await waitUntil(`ready: ${this.folder}`, READY_DEADLINE_MS, async () => {
        if (hasEnded(child)) throw new Error(`the test Redis ended: ${this.output.slice(-1_000)}`);
        return this.output.includes('Server initialized') && (await answersPing(this.port));
      });
    } catch (failure) {
      await this.end('SIGKILL');
      throw failure;
    }
  }

  /** Ends the server for good and removes its folder. */
  async stop(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** SIGKILL. The folder stays, for `restart`. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** SIGSTOP: connections stay open and nothing is answered. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Starts again on the same port, after ending the running process if there is one. */
  async restart(restart: RestartOptions = {}): Promise<void> {
    await this.end(restart.kill === true ? 'SIGKILL' : 'SIGTERM');
    if (restart.wipe === true) {
      for (const file of ['dump.rdb', 'appendonlydir']) {
        rmSync(join(this.folder, file), { recursive: true, force: true });
      }
    }
    if (restart.options !== undefined) this.options = restart.options;
    await this.start();
  }

  /** Runs one command on a connection of its own. Errors of Redis reject. */
  async cli(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    const { adminUser, password } = this.options;
    const client = new Redis({
      host: '127.0.0.1',
      port: this.port,
      lazyConnect: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      enableReadyCheck: false, // a loading server answers CONFIG and INFO
      commandTimeout: CLI_TIMEOUT_MS,
      ...(password === undefined ? {} : { password }),
      ...(adminUser ?? {}),
    });
    client.on('error', () => undefined); // the command itself rejects
    try {
      await client.connect();
      return await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    this.child = null;
    if (child === null) return;
    if (!hasEnded(child)) {
      child.kill(signal);
      child.kill('SIGCONT'); // a frozen process takes SIGTERM only after it goes on
      const ended = waitUntil('ended', STOP_DEADLINE_MS, async () => hasEnded(child));
      await ended.catch(async () => {
        child.kill('SIGKILL');
        await waitUntil('killed', STOP_DEADLINE_MS, async () => hasEnded(child));
      });
    }
    this.watchdog?.kill('SIGKILL');
    this.watchdog = null;
  }

  private writeConfiguration(): string {
    const { acl, appendOnly, config = [], password, replicaOf } = this.options;
    const lines = [
      'bind 127.0.0.1',
      `port ${this.port}`,
      `dir ${this.folder}`,
      'save ""',
      'daemonize no',
      'logfile ""',
      'maxmemory-policy noeviction',
      'enable-debug-command local',
      'repl-diskless-sync-delay 0',
    ];
    if (appendOnly === true) lines.push('appendonly yes', 'appendfsync always');
    if (password !== undefined) lines.push(`requirepass "${password.replaceAll(/["\\]/g, '\\$&')}"`);
    if (replicaOf !== undefined) lines.push(`replicaof 127.0.0.1 ${replicaOf.port}`);
    if (acl !== undefined) {
      const aclFile = join(this.folder, 'users.acl');
      writeFileSync(aclFile, `${acl.join('\n')}\n`);
      lines.push(`aclfile ${aclFile}`);
    }
    const file = join(this.folder, 'redis.conf');
    writeFileSync(file, `${[...lines, ...config].join('\n')}\n`);
    return file;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}

/** PONG, or NOAUTH: a server that asks for a password is up, too. */
async function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const settle = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => settle(/^(\+PONG|-NOAUTH)/.test(data.toString('latin1'))));
  });
}

/** Polls until the condition holds; rejects after the deadline. */
export async function waitUntil(
  what: string,
  deadlineMs: number,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}
