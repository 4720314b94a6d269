import { describe, expect, it } from '@jest/globals';
import type { StreamPrefix } from '../../../../src/domain/ids';
import { hashSlot } from '../../../../src/domain/routing/hash-slot';
import { routeTable } from '../../../../src/domain/routing/route-table';
import {
  deadLetterKey,
  layoutKey,
  retiredKey,
  streamKey,
  streamKeyPattern,
} from '../../../../src/domain/routing/shard-keys';
import { loadRoutingVectors } from './routing-vectors';

const orders = 'orders' as StreamPrefix;

describe('hashSlot', () => {
  it.each(loadRoutingVectors().slots)('puts $key into slot $slot', ({ key, slot }) => {
    expect(hashSlot(key)).toBe(slot);
  });

  it.each([
    ['foo{}{bar}', 'foo{}{bar}', 'an empty first tag: the whole key counts'],
    ['foo{{bar}}zap', '{bar', 'a brace inside the tag'],
    ['foo{bar}{zap}', 'bar', 'only the first tag'],
    ['foo{bar', 'foo{bar', 'a tag that does not end'],
    ['한{글}', '글', 'a tag beyond ASCII'],
  ])('reads the hash tag of %s as %s: %s', (key, tag) => {
    // A tag with a brace inside would be read again, so it is compared as what stands between two other braces.
    expect(hashSlot(key)).toBe(key === tag ? hashSlotOfWhole(key) : hashSlot(`x{${tag}}y`));
  });
});

/** The slot of a key whose braces do not count, told by the bit-by-bit definition of CRC16. */
function hashSlotOfWhole(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(key, 'utf8')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % 16_384;
}

describe('shard keys', () => {
  it('are spelled as the layout says', () => {
    expect(streamKey(orders, 3)).toBe('orders:3');
    expect(streamKeyPattern(orders)).toBe('orders:{shardIndex}');
    expect(deadLetterKey(orders, 3)).toBe('{orders:3}:dlq');
    expect(layoutKey(orders, 3)).toBe('{orders:3}:layout');
    expect(retiredKey(orders, 3, 'r-1')).toBe('{orders:3}:retired:r-1');
  });

  it('of one shard share one slot', () => {
    for (let index = 0; index < 64; index++) {
      const keys = [
        streamKey(orders, index),
        deadLetterKey(orders, index),
        layoutKey(orders, index),
        retiredKey(orders, index, 'r-1'),
      ];
      expect(new Set(keys.map(hashSlot)).size).toBe(1);
    }
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('refuse the shard index %p', (index) => {
    for (const spell of [streamKey, deadLetterKey, layoutKey]) {
      expect(() => spell(orders, index)).toThrow(RangeError);
    }
    expect(() => retiredKey(orders, index, 'r-1')).toThrow(RangeError);
  });
});

describe('routeTable', () => {
  it('lists every shard by index, with its key and slot', () => {
    expect(routeTable(orders, 3)).toEqual([
      { shardIndex: 0, streamKey: 'orders:0', redisSlot: 8578 },
      { shardIndex: 1, streamKey: 'orders:1', redisSlot: 12707 },
      { shardIndex: 2, streamKey: 'orders:2', redisSlot: 448 },
    ]);
  });

  it('is empty for no shards, and refuses what is no count', () => {
    expect(routeTable(orders, 0)).toEqual([]);
    expect(() => routeTable(orders, -1)).toThrow(RangeError);
    expect(() => routeTable(orders, 1.5)).toThrow(RangeError);
  });
});
