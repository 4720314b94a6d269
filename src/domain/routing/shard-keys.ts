import type { StreamPrefix } from '../ids';

/**
 * The names of a shard's Redis keys. This is the only place that spells them. All keys of one shard hash to one slot: the
 * stream's key has no braces, so it hashes as a whole, and the others carry it as their hash tag.
 * Source: docs/protocol.md, Redis layout.
 */
const SHARD_INDEX_PLACEHOLDER = '{shardIndex}';

/** `orders:3`. Throws RangeError unless `shardIndex` is an integer from 0. */
export function streamKey(streamPrefix: StreamPrefix, shardIndex: number): string {
  if (!Number.isSafeInteger(shardIndex) || shardIndex < 0) {
    throw new RangeError(`shard index is ${shardIndex}; it must be an integer from 0`);
  }
  return `${streamPrefix}:${shardIndex}`;
}

/** `orders:{shardIndex}`, literally: what the routing answer tells clients in other languages. */
export function streamKeyPattern(streamPrefix: StreamPrefix): string {
  return `${streamPrefix}:${SHARD_INDEX_PLACEHOLDER}`;
}

/** `{orders:3}:dlq`: the stream of entries that were given up. */
export function deadLetterKey(streamPrefix: StreamPrefix, shardIndex: number): string {
  return besideStream(streamPrefix, shardIndex, 'dlq');
}

/** `{orders:3}:layout`: the hash that fences a coordinator which wakes up late from creating or retiring the stream. */
export function layoutKey(streamPrefix: StreamPrefix, shardIndex: number): string {
  return besideStream(streamPrefix, shardIndex, 'layout');
}

/** `{orders:3}:retired:<reshardingId>`: a removed stream, kept for a while. */
export function retiredKey(streamPrefix: StreamPrefix, shardIndex: number, reshardingId: string): string {
  return besideStream(streamPrefix, shardIndex, `retired:${reshardingId}`);
}

function besideStream(streamPrefix: StreamPrefix, shardIndex: number, name: string): string {
  return `{${streamKey(streamPrefix, shardIndex)}}:${name}`;
}
