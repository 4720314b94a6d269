import type { StreamPrefix } from '../ids';
import { hashSlot } from './hash-slot';
import { streamKey } from './shard-keys';

/** Where a shard's stream is. The wire type `RoutedShard` has the same shape. */
export interface ShardRoute {
  readonly shardIndex: number;
  readonly streamKey: string;
  readonly redisSlot: number;
}

/** The routes of shards 0 to `shardCount` - 1, by index. Throws RangeError unless `shardCount` is an integer from 0. */
export function routeTable(streamPrefix: StreamPrefix, shardCount: number): readonly ShardRoute[] {
  if (!Number.isSafeInteger(shardCount) || shardCount < 0) {
    throw new RangeError(`shardCount is ${shardCount}; it must be an integer from 0`);
  }
  return Array.from({ length: shardCount }, (_, shardIndex) => {
    const key = streamKey(streamPrefix, shardIndex);
    return { shardIndex, streamKey: key, redisSlot: hashSlot(key) };
  });
}
