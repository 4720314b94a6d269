import { connect, type Socket } from 'node:net';
import { type RedisServer, waitUntil } from './redis-server';

/** A command as Redis' MONITOR tells it. */
export interface SeenCommand {
  /** Wall clock, milliseconds. */
  readonly atMs: number;
  /** Address of the client; `lua` for what a script did. */
  readonly source: string;
  /** In upper case. */
  readonly name: string;
  readonly parts: readonly string[];
}

const DEADLINE_MS = 10_000;
/** `+1700000000.123456 [0 127.0.0.1:4000] "XACK" "orders:0" ...` */
const LINE = /^\+(?<time>\d+\.\d+) \[\d+ (?<source>[^\]]+)\] (?<command>.*)$/;

/**
 * All that Redis is told, in its order, from outside of whoever tells it. Over a socket of its own: ioredis takes the first
 * commands for replies when they come in one packet with the answer to MONITOR.
 */
export class RedisMonitor {
  readonly seen: SeenCommand[] = [];
  private rest = '';
  private isAttached = false;
  private marks = 0;

  private constructor(
    private readonly redis: RedisServer,
    private readonly socket: Socket,
  ) {
    socket.setEncoding('latin1').on('data', (text: string) => this.read(text));
    socket.on('error', () => undefined); // whoever waits for something runs into its deadline
  }

  static async attach(redis: RedisServer): Promise<RedisMonitor> {
    const socket = connect({ host: '127.0.0.1', port: redis.port });
    const monitor = new RedisMonitor(redis, socket);
    socket.write('MONITOR\r\n');
    await waitUntil('MONITOR is on', DEADLINE_MS, () => monitor.isAttached);
    return monitor;
  }

  /** Resolves once everything that Redis did so far has been seen here. */
  async catchUp(): Promise<void> {
    this.marks += 1;
    const mark = `mark-${this.marks}`;
    await this.redis.cli('ECHO', mark);
    const isMark = ({ name, parts }: SeenCommand): boolean => name === 'ECHO' && parts[0] === mark;
    await waitUntil('MONITOR has told everything', DEADLINE_MS, () => this.seen.some(isMark));
  }

  detach(): void {
    this.socket.destroy();
  }

  private read(text: string): void {
    const lines = (this.rest + text).split('\r\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '+OK') this.isAttached = true;
      else this.note(line);
    }
  }

  private note(line: string): void {
    const { time, source, command } = LINE.exec(line)?.groups ?? {};
    if (time === undefined || source === undefined || command === undefined) {
      throw new Error(`not a line of MONITOR: ${line}`);
    }
    const [name = '', ...parts] = [...command.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(
      (match) => match[1] ?? '',
    );
    this.seen.push({ atMs: Number(time) * 1_000, source, name: name.toUpperCase(), parts });
  }
}

/** Reads and claims under a consumer name, for whoever `isTheirs` says. Listing what is pending takes nothing and is none. */
export function readsBy(
  seen: readonly SeenCommand[],
  isTheirs: (consumer: string) => boolean,
): readonly SeenCommand[] {
  return seen.filter(({ name, parts }) => {
    const consumer = name === 'XREADGROUP' || name === 'XCLAIM' || name === 'XAUTOCLAIM' ? parts[2] : null;
    return consumer !== null && consumer !== undefined && isTheirs(consumer);
  });
}

/** Acks from any of these addresses. */
export function acksFrom(
  seen: readonly SeenCommand[],
  addresses: ReadonlySet<string>,
): readonly SeenCommand[] {
  return seen.filter(({ name, source }) => name === 'XACK' && addresses.has(source));
}
