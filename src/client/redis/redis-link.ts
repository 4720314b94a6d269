import type { Redis } from 'ioredis';
import { createConnection } from './connection';
import type { ConnectionOptions, RedisSource } from './connection';

/**
 * One connection that is made again whenever it is lost, until it is closed. States: away (commands reject at once), ready
 * (commands are sent), closed. It tells its user when it becomes ready and reports each kind of trouble; it resends nothing.
 */
export class RedisLink {
  readonly client: Redis;
  private readonly readyListeners = new Set<() => void>();
  private isClosed = false;
  private lastTrouble: Error | null = null;

  constructor(
    source: RedisSource,
    options: ConnectionOptions,
    private readonly onTrouble: (error: Error) => void,
  ) {
    this.client = createConnection(source, options);
    this.client.on('error', (error: Error) => {
      this.lastTrouble = error;
      if (!this.isClosed) this.onTrouble(error);
    });
    this.client.on('ready', () => {
      for (const listener of this.readyListeners) listener();
    });
  }

  /** Rejects, with what the connection said last, when the first attempt fails; a connection lost later is made again on its own. */
  async connect(): Promise<void> {
    try {
      await this.client.connect();
    } catch (error) {
      this.close();
      throw this.lastTrouble ?? error; // ioredis itself only says that the connection is closed
    }
  }

  get isReady(): boolean {
    return this.client.status === 'ready';
  }

  /** Called each time the connection became ready, which is each time it has a new client id. */
  onReady(listener: () => void): void {
    this.readyListeners.add(listener);
  }

  /** Runs `work` at once; what it writes leaves in one system call when it returns. */
  gatherWrites(work: () => void): void {
    if (!this.isReady) {
      work();
      return;
    }
    const { stream } = this.client;
    stream.cork();
    try {
      work();
    } finally {
      stream.uncork();
    }
  }

  /** Drops the connection and makes a new one: whatever was not answered rejects. */
  cut(): void {
    if (!this.isClosed) this.client.disconnect(true);
  }

  close(): void {
    this.isClosed = true;
    this.readyListeners.clear();
    this.client.disconnect();
  }

  /** Closes once the commands sent so far are answered, or their deadline is over. */
  async closeGracefully(): Promise<void> {
    this.isClosed = true;
    this.readyListeners.clear();
    if (this.isReady) await this.client.quit().catch(() => undefined);
    this.client.disconnect();
  }
}
