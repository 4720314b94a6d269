import { groupKeyText, parseGroupKeyText, type GroupKey } from '../../domain/ids';

/** The coordinator's own Redis keys (docs/protocol.md, Redis layout). This is the only place that spells them. */
export class CoordinatorKeys {
  /** `prefix` begins every key, e.g. `redis-stream:coord`; without braces, which would move the hash slot. */
  constructor(private readonly prefix: string) {}

  /** Hash, without TTL. All keys of a group share its hash tag. */
  metadata(key: GroupKey): string {
    return `${this.prefix}:{${groupKeyText(key)}}:metadata`;
  }

  lock(key: GroupKey): string {
    return `${this.prefix}:{${groupKeyText(key)}}:lock`;
  }

  streamRecord(streamPrefix: string): string {
    return `${this.prefix}:{${streamPrefix}}:stream`;
  }

  /** Sorted set: when the event loop must next look at a group. */
  get index(): string {
    return `${this.prefix}:groups`;
  }

  get loop(): string {
    return `${this.prefix}:loop`;
  }

  get noticeChannel(): string {
    return `${this.prefix}:notices`;
  }

  /** Matches every metadata key, for SCAN. */
  get metadataPattern(): string {
    return `${this.prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}:{*}:metadata`;
  }

  /** The group whose metadata key this is; null when it is none. */
  groupOfMetadataKey(text: string): GroupKey | null {
    const head = `${this.prefix}:{`;
    const tail = '}:metadata';
    if (!text.startsWith(head) || !text.endsWith(tail)) return null;
    return parseGroupKeyText(text.slice(head.length, -tail.length));
  }
}
