import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFrozen } from './process-state';
import { waitUntil } from './redis-server';
import { startWatchdog } from './watchdog';

/** What the handler does with an entry; see consumer-process.script.mjs. */
export type EntryKind = 'plain' | 'gate' | 'hang' | 'throw' | 'refuse' | 'downstream' | 'exit';

/** A line of the log. Times are those of the wall clock, which Redis' MONITOR has, too. */
export interface ConsumerLine {
  readonly what:
    | 'joined'
    | 'started'
    | 'handled'
    | 'aborted'
    | 'assigned'
    | 'revoked'
    | 'fenced'
    | 'leaseLost'
    | 'correction'
    | 'groupMissing'
    | 'error'
    | 'stopped';
  readonly atMs: number;
  readonly pid: number;
  readonly shard?: number;
  readonly id?: string;
  readonly n?: number;
  readonly memberId?: string;
  readonly memberEpoch?: number;
  readonly deliveryCount?: number;
  readonly fencingToken?: number;
  readonly reason?: string;
  /** Of `fenced`: what the coordinator answered. */
  readonly status?: string;
  /** Of `correction`. */
  readonly state?: 'STARTED' | 'ENDED';
  readonly metadataVersion?: number;
  readonly name?: string;
  readonly message?: string;
  /** Of `stopped`: entries by what became of them. */
  readonly entries?: Readonly<Record<string, number>>;
}

/** Options of StreamConsumer that can be written as JSON. */
export type ConsumerProcessOptions = Readonly<Record<string, unknown>> & { readonly memberId: string };

const SCRIPT = join(__dirname, 'consumer-process.script.mjs');
const JOIN_DEADLINE_MS = 30_000;
const END_DEADLINE_MS = 15_000;
/** A supervisor gives up on a process that dies again and again. */
const MAX_RESTARTS = 10;

/** A real consumer in a process of its own. A watchdog kills it when this process ends. */
export class ConsumerProcess {
  /** How each process so far ended. */
  readonly ends: { readonly code: number | null; readonly signal: NodeJS.Signals | null }[] = [];
  output = '';
  private child: ChildProcess;
  private isSupervised: boolean;

  constructor(
    private readonly options: ConsumerProcessOptions,
    private readonly logFile: string,
    { supervised = false }: { readonly supervised?: boolean } = {},
  ) {
    this.isSupervised = supervised;
    this.child = this.spawn();
  }

  /** Id of its first logical member. */
  get memberId(): string {
    return `${this.options.memberId}-m0`;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** All lines of the log; of one kind. */
  lines(what?: ConsumerLine['what']): readonly ConsumerLine[] {
    const text = readFileSync(this.logFile, { encoding: 'utf8', flag: 'a+' });
    const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    const lines = whole.filter((line) => line !== '').map((line) => JSON.parse(line) as ConsumerLine);
    return what === undefined ? lines : lines.filter((line) => line.what === what);
  }

  /** Numbers of the entries of a shard that were handled, in the order in which they were. */
  handled(shard: number): readonly number[] {
    return this.lines('handled').flatMap((line) => (line.shard === shard ? (line.n ?? []) : []));
  }

  async untilJoined(): Promise<void> {
    await waitUntil('the consumer has joined', JOIN_DEADLINE_MS, () => {
      if (this.hasEnded) throw new Error(`the consumer ended: ${this.output}`);
      return this.lines('joined').length > 0;
    });
  }

  /** Polls until the log holds it. */
  async until(
    what: string,
    holds: (lines: readonly ConsumerLine[]) => boolean,
    deadlineMs: number,
  ): Promise<void> {
    await waitUntil(`${this.memberId}: ${what}`, deadlineMs, () => holds(this.lines())).catch(
      (late: unknown) => {
        throw new Error(`${String(late)}; its log ends with ${JSON.stringify(this.lines().slice(-8))}`);
      },
    );
  }

  /** SIGSTOP; resolves when it lies still. */
  async freeze(): Promise<void> {
    this.child.kill('SIGSTOP');
    await waitUntil('the consumer is frozen', END_DEADLINE_MS, () => isFrozen(this.pid));
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** SIGKILL; resolves when it has ended. No supervisor starts it again. */
  async kill(): Promise<void> {
    this.isSupervised = false;
    await this.end('SIGKILL');
  }

  /** SIGTERM, upon which it drains, leaves, and logs its counts. */
  async stop(): Promise<void> {
    this.isSupervised = false;
    await this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (this.hasEnded) return;
    this.child.kill(signal);
    await waitUntil(`the consumer has ended by ${signal}`, END_DEADLINE_MS, () => this.hasEnded);
  }

  private spawn(): ChildProcess {
    const argument = JSON.stringify({ logFile: this.logFile, options: this.options });
    const child = spawn(process.execPath, [SCRIPT, argument], { stdio: ['ignore', 'pipe', 'pipe'] });
    const watchdog = startWatchdog(child.pid ?? 0);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    child.once('exit', (code, signal) => {
      watchdog.kill('SIGKILL');
      this.ends.push({ code, signal });
      if (this.isSupervised && this.ends.length <= MAX_RESTARTS) this.child = this.spawn();
    });
    return child;
  }
}
