import type { AckBuffer } from './ack-buffer';
import type { Attempt } from './attempt';

/** Handled entries without an ack, above which the shard is not read further. */
const MAX_UNACKED = 1_000;

/**
 * With `ackMode: 'manual'`: the entries of one shard that were handled and that the application has not acked yet. An entry
 * enters when its handler returned without an ack, and leaves by `ack`; with the worker, all that is left stays pending.
 */
export class ManualAcks {
  private readonly unacked = new Set<string>();

  constructor(private readonly acks: AckBuffer) {}

  get count(): number {
    return this.unacked.size;
  }

  get isFull(): boolean {
    return this.unacked.size >= MAX_UNACKED;
  }

  has(id: string): boolean {
    return this.unacked.has(id);
  }

  handled(attempt: Attempt): void {
    if (!attempt.isAcked) this.unacked.add(attempt.id);
  }

  /** `inHand`: the entry whose handler runs. False for an entry that is acked already, or is not of this shard. */
  ack(id: string, inHand: Attempt | null): boolean {
    const attempt = inHand?.id === id ? inHand : null;
    const isOpen = attempt === null ? this.unacked.delete(id) : !attempt.isAcked;
    if (!isOpen) return false;
    if (attempt !== null) attempt.isAcked = true;
    return this.acks.add(id);
  }
}
