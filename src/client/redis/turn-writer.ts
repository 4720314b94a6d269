import type { Redis } from 'ioredis';

/**
 * Gathers what commands write during one turn of the event loop, and hands it to the connection in one piece: one system call
 * for all publishes of a turn. The connection must be used through it alone: Redis answers in the order in which commands
 * arrive, and a command written past it would overtake those that wait here.
 */
export class TurnWriter {
  /** The shape in which ioredis takes someone who writes for a connection. */
  readonly isPipeline = true;
  readonly destination: { readonly redis: Redis };

  private text = '';
  /** Not empty when a command had binary arguments: then everything goes as bytes. */
  private chunks: Buffer[] = [];
  private isScheduled = false;

  /** The connection of the commands gathered: it may be replaced before the turn ends. */
  private target: Redis['stream'] | null = null;

  constructor(client: Redis) {
    this.destination = { redis: client };
  }

  /** What a command of ioredis calls to send itself. */
  write(data: string | Buffer): boolean {
    if (!this.isScheduled) this.schedule();
    if (typeof data === 'string') {
      this.text += data;
    } else {
      this.takeText();
      this.chunks.push(data);
    }
    return true;
  }

  private schedule(): void {
    this.isScheduled = true;
    this.target = this.destination.redis.stream;
    setImmediate(() => this.flush());
  }

  private takeText(): void {
    if (this.text !== '') this.chunks.push(Buffer.from(this.text, 'utf8'));
    this.text = '';
  }

  private flush(): void {
    const { target } = this;
    if (this.chunks.length > 0) this.takeText();
    const data = this.chunks.length > 0 ? Buffer.concat(this.chunks) : this.text;
    this.text = '';
    this.chunks = [];
    this.isScheduled = false;
    // A connection that was lost meanwhile fails its commands itself.
    if (target?.writable === true) target.write(data);
  }
}
