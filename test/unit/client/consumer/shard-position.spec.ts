import { describe, expect, it } from '@jest/globals';
import { ShardPosition } from '../../../../src/client/consumer/shard-position';
import type { ShardIndex } from '../../../../src/domain/ids';

describe('the progress of a shard', () => {
  it('says when it last moved, by a delivery or an ack', () => {
    let nowMs = 1_000;
    const position = new ShardPosition(() => nowMs);
    const updatedAt = () => position.progress(3 as ShardIndex, 'orders:3', 0).updatedAt;
    expect(updatedAt()).toBeNull();
    position.delivered([]);
    expect(updatedAt()).toBeNull();
    position.delivered([['1-0', []]]);
    expect(updatedAt()).toBe(1_000);
    nowMs = 2_000;
    position.acked('1-0');
    expect(position.progress(3 as ShardIndex, 'orders:3', 1)).toEqual({
      shard: { shardIndex: 3 },
      streamKey: 'orders:3',
      lastDeliveredId: '1-0',
      lastAckedId: '1-0',
      pendingCount: 1,
      updatedAt: 2_000,
    });
  });
});
