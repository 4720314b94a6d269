import { describe, expect, it } from '@jest/globals';
import { murmur3, murmur3OfBytes, shardIndexOf } from '../../../../src/domain/routing/partitioner';
import { loadRoutingVectors } from './routing-vectors';

const vectors = loadRoutingVectors();
const keys = vectors.hashes.map(({ key }) => key);

describe('murmur3', () => {
  it.each(vectors.hashes)('hashes "$key" as the vectors say', ({ key, hash }) => {
    expect(murmur3(key)).toBe(hash);
    expect(murmur3OfBytes([...Buffer.from(key, 'utf8')])).toBe(hash);
  });

  it('takes the seed into account', () => {
    expect(murmur3('order-1', 1)).not.toBe(murmur3('order-1', 0));
    expect(murmur3('한글', 1)).not.toBe(murmur3('한글', 0));
  });

  it('hashes a surrogate without its other half as U+FFFD, as every UTF-8 encoder does', () => {
    for (const text of ['a\ud800b', '\udc00', 'x\ud83d']) {
      expect(murmur3(text)).toBe(murmur3OfBytes([...Buffer.from(text, 'utf8')]));
    }
    expect(murmur3('\ud800')).toBe(murmur3('\ufffd'));
  });

  it('hashes texts of every UTF-8 width and length as their bytes', () => {
    for (const character of [
      'a',
      '\u007f',
      '\u0080',
      '\u07ff',
      '\u0800',
      '\uffff',
      '\u{10000}',
      '\u{10ffff}',
    ]) {
      for (let length = 1; length <= 9; length++) {
        const text = 'k'.repeat(length) + character.repeat(length);
        expect(murmur3(text)).toBe(murmur3OfBytes([...Buffer.from(text, 'utf8')]));
      }
    }
  });
});

describe('shardIndexOf', () => {
  it.each(vectors.shardIndexes)('spreads the keys over $shardCount shards as the vectors say', (vector) => {
    expect(keys.map((key) => shardIndexOf(key, vector.shardCount))).toEqual(vector.indexes);
  });

  it.each(vectors.rehash)('draws "$key" again among $shardCount shards', ({ key, shardCount, index }) => {
    expect(murmur3(key)).toBeGreaterThanOrEqual(2 ** 32 - (2 ** 32 % shardCount)); // else it proves nothing
    expect(shardIndexOf(key, shardCount)).toBe(index);
  });

  it('takes the largest shard count, where nothing is drawn again', () => {
    expect(shardIndexOf('order-1', 2 ** 32)).toBe(murmur3('order-1'));
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32 + 1])(
    'refuses %p shards',
    (shardCount) => {
      expect(() => shardIndexOf('order-1', shardCount)).toThrow(RangeError);
    },
  );

  it('gives every shard its share of many keys', () => {
    const counts = new Array<number>(7).fill(0);
    for (let key = 0; key < 70_000; key++) {
      const index = shardIndexOf(`customer-${key}`, 7);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    for (const count of counts) {
      expect(count).toBeGreaterThan(9_500);
      expect(count).toBeLessThan(10_500);
    }
  });
});
