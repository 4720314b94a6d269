import { ASCII_LIMIT, utf8Bytes } from './utf8';

/**
 * Which shard a partition key belongs to. The same in every publisher of every language: MurmurHash3 x86 32 over the UTF-8
 * bytes of the key, without modulo bias. Source: docs/protocol.md, Producers; vectors in test/vectors/routing-v1.json.
 */
const HASH_SPACE = 2 ** 32;
/** A key is hashed again with a probability below 1/2, so this is never reached; the bound keeps the loop finite by proof. */
const MAX_REHASH_ATTEMPTS = 256;

const BLOCK_FACTOR_1 = 0xcc9e2d51;
const BLOCK_FACTOR_2 = 0x1b873593;
const STATE_ADDEND = 0xe6546b64;
const FINAL_FACTOR_1 = 0x85ebca6b;
const FINAL_FACTOR_2 = 0xc2b2ae35;

/** MurmurHash3 x86 32 of the UTF-8 bytes of `key`, as an unsigned 32-bit number. */
export function murmur3(key: string, seed = 0): number {
  const length = key.length;
  let state = seed | 0;
  let block = 0;
  for (let index = 0; index < length; index++) {
    const unit = key.charCodeAt(index);
    // Most keys are ASCII: one byte per unit, no array in between.
    if (unit >= ASCII_LIMIT) return murmur3OfBytes(utf8Bytes(key), seed);
    block |= unit << ((index & 3) << 3);
    if ((index & 3) === 3) {
      state = mixBlock(state, block);
      block = 0;
    }
  }
  return finish(state, block, length);
}

/** MurmurHash3 x86 32 of bytes, as an unsigned 32-bit number. */
export function murmur3OfBytes(bytes: readonly number[], seed = 0): number {
  let state = seed | 0;
  let block = 0;
  let index = 0;
  for (const byte of bytes) {
    block |= byte << ((index & 3) << 3);
    if ((index & 3) === 3) {
      state = mixBlock(state, block);
      block = 0;
    }
    index++;
  }
  return finish(state, block, index);
}

/**
 * The shard index of `key` among `shardCount` shards, from 0. Hashes in the last, incomplete run of shardCount values are
 * drawn again, so that every shard gets the same share. Throws RangeError unless `shardCount` is an integer from 1 to 2^32.
 */
export function shardIndexOf(key: string, shardCount: number): number {
  if (!Number.isInteger(shardCount) || shardCount < 1 || shardCount > HASH_SPACE) {
    throw new RangeError(`shardCount is ${shardCount}; it must be an integer from 1 to 2^32`);
  }
  const fairLimit = HASH_SPACE - (HASH_SPACE % shardCount);
  let hash = murmur3(key);
  for (let attempt = 1; hash >= fairLimit && attempt <= MAX_REHASH_ATTEMPTS; attempt++) {
    hash = murmur3(key, rehashSeed(attempt));
  }
  return hash % shardCount;
}

function rehashSeed(attempt: number): number {
  return murmur3OfBytes([attempt & 0xff, (attempt >>> 8) & 0xff, (attempt >>> 16) & 0xff, attempt >>> 24]);
}

function mixBlock(state: number, block: number): number {
  const mixed = state ^ scramble(block);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + STATE_ADDEND) | 0;
}

function scramble(block: number): number {
  const product = Math.imul(block, BLOCK_FACTOR_1);
  return Math.imul((product << 15) | (product >>> 17), BLOCK_FACTOR_2);
}

/** `tail` holds the last 0 to 3 bytes; scrambled zeros are zero, so an empty tail changes nothing. */
function finish(state: number, tail: number, byteLength: number): number {
  let hash = state ^ scramble(tail) ^ byteLength;
  hash = Math.imul(hash ^ (hash >>> 16), FINAL_FACTOR_1);
  hash = Math.imul(hash ^ (hash >>> 13), FINAL_FACTOR_2);
  return (hash ^ (hash >>> 16)) >>> 0;
}
