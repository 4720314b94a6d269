import type { RawReadReply } from './group-commands';
import type { RedisLink } from './redis-link';

export interface GroupRead {
  readonly consumer: string;
  readonly streamKeys: readonly string[];
  readonly count: number;
  /** Milliseconds, above 0: 0 would block for ever. */
  readonly blockMs: number;
}

/** Blocking reads of new entries on a connection of their own, one at a time. */
export class GroupReads {
  private clientId: number | null = null;

  constructor(
    private readonly link: RedisLink,
    private readonly group: string,
  ) {
    link.onReady(() => (this.clientId = null));
  }

  get isReady(): boolean {
    return this.link.isReady;
  }

  onReady(listener: () => void): void {
    this.link.onReady(listener);
  }

  /** By which another connection can end a read of this one. Changes with each connection. */
  async currentClientId(): Promise<number> {
    this.clientId ??= await this.link.client.client('ID');
    return this.clientId;
  }

  async read({ consumer, streamKeys, count, blockMs }: GroupRead): Promise<RawReadReply> {
    const fresh = streamKeys.map(() => '>');
    return (await this.link.client.call(
      'XREADGROUP',
      ...[
        'GROUP',
        this.group,
        consumer,
        'COUNT',
        count,
        'BLOCK',
        blockMs,
        'STREAMS',
        ...streamKeys,
        ...fresh,
      ],
    )) as RawReadReply;
  }

  /** Drops the connection under a read that hangs; the read rejects, and a new connection is made. */
  cut(): void {
    this.link.cut();
  }

  close(): void {
    this.link.close();
  }
}
