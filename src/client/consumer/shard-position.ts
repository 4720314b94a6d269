import type { ShardIndex } from '../../domain/ids';
import type { ShardProgress } from '../../protocol';
import type { RawEntry } from '../redis/group-commands';

/** How far a shard has come, for the progress in heartbeats. */
export class ShardPosition {
  private lastDeliveredId: string | null = null;
  private lastAckedId: string | null = null;
  private movedAtMs: number | null = null;

  /** `wallClockMs`: for people and for whoever finds stalled shards; nothing is decided by it here. */
  constructor(private readonly wallClockMs: () => number = Date.now) {}

  delivered(entries: readonly RawEntry[]): void {
    this.lastDeliveredId = entries.at(-1)?.[0] ?? this.lastDeliveredId;
    if (entries.length > 0) this.movedAtMs = this.wallClockMs();
  }

  acked(lastId: string): void {
    this.lastAckedId = lastId;
    this.movedAtMs = this.wallClockMs();
  }

  progress(shard: ShardIndex, streamKey: string, pendingCount: number): ShardProgress {
    const { lastDeliveredId, lastAckedId, movedAtMs: updatedAt } = this;
    return { shard: { shardIndex: shard }, streamKey, lastDeliveredId, lastAckedId, pendingCount, updatedAt };
  }
}
