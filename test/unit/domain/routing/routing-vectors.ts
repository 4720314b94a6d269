import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** test/vectors/routing-v1.json: what publishers in every language must agree on. */
export type RoutingVectors = {
  readonly hashes: readonly { readonly key: string; readonly hash: number }[];
  readonly shardIndexes: readonly { readonly shardCount: number; readonly indexes: readonly number[] }[];
  readonly rehash: readonly { readonly key: string; readonly shardCount: number; readonly index: number }[];
  readonly slots: readonly { readonly key: string; readonly slot: number }[];
};

export function loadRoutingVectors(): RoutingVectors {
  const file = join(__dirname, '../../../vectors/routing-v1.json');
  return JSON.parse(readFileSync(file, 'utf8')) as RoutingVectors;
}
