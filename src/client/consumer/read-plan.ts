import type { ShardWorker } from './shard-worker';

/** Shards that one XREADGROUP reads together. */
export type ReadGroup = readonly ShardWorker[];

/** How the shards of a member are grouped into reads. A cluster has one that keeps slots apart. */
export interface ReadPlan {
  /** The next read among the shards that want one, which are at least one. */
  next(wanting: ReadGroup): ReadGroup;
}

/** Standalone: one read for all. Redis serves the streams of a read in the order given, so that each begins in its turn. */
export class SingleNodePlan implements ReadPlan {
  private turn = 0;

  next(wanting: ReadGroup): ReadGroup {
    this.turn += 1;
    const first = this.turn % wanting.length;
    return [...wanting.slice(first), ...wanting.slice(0, first)];
  }
}
