import type { ShardIndex } from '../../domain/ids';

/**
 * What the application of one member was told that it has. A shard enters as owned, may be drained and owned again, and leaves
 * when its drain is done or with its tenure.
 */
export class HeldShards {
  /** When its drain began, ms; null: owned. */
  private readonly drainSinceMs = new Map<ShardIndex, number | null>();

  own(shard: ShardIndex): void {
    this.drainSinceMs.set(shard, null);
  }

  drain(shard: ShardIndex, nowMs: number): void {
    this.drainSinceMs.set(shard, nowMs);
  }

  /** How long its drain took, in ms; null when it was not drained, and is not forgotten then. */
  drained(shard: ShardIndex, nowMs: number): number | null {
    const sinceMs = this.drainSinceMs.get(shard) ?? null;
    if (sinceMs === null) return null;
    this.drainSinceMs.delete(shard);
    return nowMs - sinceMs;
  }

  /** All of them, which are forgotten. */
  takeAll(): ShardIndex[] {
    const shards = [...this.drainSinceMs.keys()];
    this.drainSinceMs.clear();
    return shards;
  }

  get owned(): readonly ShardIndex[] {
    return [...this.drainSinceMs].filter(([, sinceMs]) => sinceMs === null).map(([shard]) => shard);
  }

  get drainingCount(): number {
    return this.drainSinceMs.size - this.owned.length;
  }
}
