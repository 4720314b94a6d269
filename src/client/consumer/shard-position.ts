import type { ShardIndex } from '../../domain/ids';
import type { ShardProgress } from '../../protocol';
import type { RawEntry } from '../redis/group-commands';

/** How far a shard has come, for the progress in heartbeats. */
export class ShardPosition {
  private lastDeliveredId: string | null = null;
  private lastAckedId: string | null = null;

  delivered(entries: readonly RawEntry[]): void {
    this.lastDeliveredId = entries.at(-1)?.[0] ?? this.lastDeliveredId;
  }

  acked(lastId: string): void {
    this.lastAckedId = lastId;
  }

  progress(shard: ShardIndex, streamKey: string, pendingCount: number): ShardProgress {
    const { lastDeliveredId, lastAckedId } = this;
    return { shard: { shardIndex: shard }, streamKey, lastDeliveredId, lastAckedId, pendingCount };
  }
}
