import type { ShardIndex } from '../../domain/ids';

/** One entry of a shard's stream, as the handler gets it. */
export class StreamMessage {
  private fieldsByName: Readonly<Record<string, string>> | null = null;

  constructor(
    /** Redis entry id, e.g. `1700000000000-0`. */
    readonly id: string,
    readonly streamKey: string,
    readonly shard: ShardIndex,
    /** Field names and values in turn, as they were added; a name may occur twice. */
    readonly rawFields: readonly string[],
  ) {}

  /** Fields by name, without a prototype; of a name that occurs twice, the last. Built at the first use. */
  get fields(): Readonly<Record<string, string>> {
    this.fieldsByName ??= fieldsOf(this.rawFields);
    return this.fieldsByName;
  }
}

function fieldsOf(rawFields: readonly string[]): Readonly<Record<string, string>> {
  const fields = Object.create(null) as Record<string, string>;
  for (let i = 0; i + 1 < rawFields.length; i += 2)
    fields[rawFields[i] as string] = rawFields[i + 1] as string;
  return fields;
}

/** What a context needs of the shard that it belongs to. */
export interface HandledShard {
  readonly shard: ShardIndex;
  readonly streamKey: string;
  readonly memberId: string;
  readonly token: number;
  readonly signal: AbortSignal;
  ackByHand(id: string): boolean;
}

/** What a handler may know and do about the entry at hand. */
export class MessageContext {
  constructor(
    private readonly source: HandledShard,
    private readonly id: string,
    /** Which attempt this is, from 1; counts deaths of the process, and what handlers of former owners tried. */
    readonly deliveryCount: number,
  ) {}

  /** Aborted when the work on this shard must end: lease over, fenced, or a drain that takes too long. */
  get signal(): AbortSignal {
    return this.source.signal;
  }

  get shard(): ShardIndex {
    return this.source.shard;
  }

  get streamKey(): string {
    return this.source.streamKey;
  }

  get memberId(): string {
    return this.source.memberId;
  }

  /**
   * Of the grant, as it is now: it grows with each grant of the shard, and while the shard is read when a correction round
   * begins. A store that keeps the highest can refuse the writes of a former owner.
   */
  get fencingToken(): number {
    return this.source.token;
  }

  /** With `ackMode: 'manual'`: acknowledges the entry, now or after the handler returned. False when this consumer may not any more. */
  ack(): boolean {
    return this.source.ackByHand(this.id);
  }
}

/** Handles one entry. What it throws decides what becomes of it: see InvalidMessageError, NonRetryableError, RetryableError. */
export type MessageHandler = (message: StreamMessage, context: MessageContext) => unknown;
