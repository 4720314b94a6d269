import { Redis } from 'ioredis';
import { waitUntil } from './redis-server';

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

const ATTACH_DEADLINE_MS = 5_000;

/** All that Redis is told, in its order, from outside of whoever tells it. */
export class RedisMonitor {
  readonly seen: SeenCommand[] = [];

  private constructor(
    private readonly client: Redis,
    private readonly control: Redis,
  ) {}

  static async attach(port: number): Promise<RedisMonitor> {
    const control = new Redis({ host: '127.0.0.1', port });
    const client = await control.monitor();
    const monitor = new RedisMonitor(client, control);
    client.on('monitor', (time: string, parts: string[], source: string) => {
      const [name = '', ...rest] = parts;
      monitor.seen.push({ atMs: Number(time) * 1_000, source, name: name.toUpperCase(), parts: rest });
    });
    await monitor.catchUp();
    return monitor;
  }

  /** Resolves once everything that Redis did so far has been seen here. */
  async catchUp(): Promise<void> {
    const mark = `mark-${this.seen.length}-${performance.now()}`;
    await this.control.echo(mark);
    const hasMark = ({ parts }: SeenCommand): boolean => parts[0] === mark;
    await waitUntil('MONITOR tells', ATTACH_DEADLINE_MS, () => this.seen.some(hasMark));
  }

  detach(): void {
    this.client.disconnect();
    this.control.disconnect();
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
