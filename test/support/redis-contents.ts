import type { RedisServer } from './redis-server';

/** Written by the clock and by health probes, not by requests. */
const UNRELATED = /:loop$|:probe:|\{probe\}/;

/** A digest of everything in Redis that a request could have written: equal before and after if nothing was. */
export async function contentsOf(redis: RedisServer): Promise<unknown> {
  const keys = ((await redis.cli('KEYS', '*')) as string[]).filter((key) => !UNRELATED.test(key)).sort();
  const digests = keys.length === 0 ? [] : await redis.cli('DEBUG', 'DIGEST-VALUE', ...keys);
  return { keys, digests };
}
