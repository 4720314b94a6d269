import { parseConsumerGroup, parseMemberId, parseStreamPrefix, type GroupKey } from '../../src/domain/ids';
import { readStoredGroup, type ReadGroup } from '../../src/store/codec';
import { CoordinatorKeys } from '../../src/store/redis/coordinator-keys';
import type { RedisServer } from './redis-server';

/** Keys under the default prefix. */
export const STORED_KEYS = new CoordinatorKeys('redis-stream:coord');

const LEASE_FIELD = 'lease:';

export function groupKeyOf(streamPrefix: string, consumerGroup: string): GroupKey {
  const key = {
    streamPrefix: parseStreamPrefix(streamPrefix),
    consumerGroup: parseConsumerGroup(consumerGroup),
  };
  if (key.streamPrefix === null || key.consumerGroup === null) throw new Error('not the name of a group');
  return { streamPrefix: key.streamPrefix, consumerGroup: key.consumerGroup };
}

/**
 * The group as it lies in Redis, read past every coordinator with the codec, which refuses whatever contradicts itself:
 * revision, write id and times beside the aggregate, leases without members, broken invariants. null: there is none.
 */
export async function storedGroup(redis: RedisServer, key: GroupKey): Promise<ReadGroup | null> {
  const flat = (await redis.cli('HGETALL', STORED_KEYS.metadata(key))) as string[];
  if (flat.length === 0) return null;
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < flat.length; index += 2) fields.set(flat[index]!, flat[index + 1]!);
  const field = (name: string): string | null => fields.get(name) ?? null;
  const leases = [...fields].filter(([name]) => name.startsWith(LEASE_FIELD));
  return readStoredGroup(
    key,
    {
      aggregate: field('aggregate'),
      revision: field('revision'),
      writeId: field('writeId'),
      schemaVersion: field('schemaVersion'),
      layoutVersion: field('layoutVersion'),
      updatedAt: field('updatedAt'),
      redisId: field('redisId'),
    },
    leases.flatMap(([name, deadline]) => [name.slice(LEASE_FIELD.length), deadline]),
  );
}

/** Ids of the recorded members, sorted. Throws when what is stored is not whole. */
export async function storedMembers(redis: RedisServer, key: GroupKey): Promise<readonly string[]> {
  const read = await storedGroup(redis, key);
  if (read?.kind !== 'READ') throw new Error(`the stored group is not whole: ${JSON.stringify(read)}`);
  return [...read.metadata.members.keys()].sort();
}

/** The epoch under which a member is recorded; null: it is not. */
export async function storedEpoch(
  redis: RedisServer,
  key: GroupKey,
  memberId: string,
): Promise<number | null> {
  const read = await storedGroup(redis, key);
  if (read?.kind !== 'READ') throw new Error(`the stored group is not whole: ${JSON.stringify(read)}`);
  const id = parseMemberId(memberId);
  return id === null ? null : (read.metadata.members.get(id)?.memberEpoch ?? null);
}
