import type { EpochMillis } from '../domain/time';

/** One Redis consumer group of a stream, of `XINFO GROUPS`. */
export interface GroupInfo {
  readonly pendingCount: number;
  readonly lastDeliveredId: string;
  /** null: Redis cannot tell (older than 7.0, or entries were deleted). */
  readonly lag: number | null;
}

/** null: the reply is none, or does not name the group. */
export function groupInfo(reply: unknown, name: string): GroupInfo | null {
  const fields = recordsOf(reply)?.find((candidate) => candidate.get('name') === name);
  const pendingCount = fields?.get('pending');
  const lastDeliveredId = fields?.get('last-delivered-id');
  const lag = fields?.get('lag');
  if (typeof pendingCount !== 'number' || typeof lastDeliveredId !== 'string') return null;
  return { pendingCount, lastDeliveredId, lag: typeof lag === 'number' ? lag : null };
}

/**
 * How long ago an entry was last handed to any consumer, of `XINFO CONSUMERS`; milliseconds; null: never. Before Redis 7.2
 * there is no `inactive`; `idle` moved only with entries then, and may be too short for a consumer that claims in vain.
 */
export function consumersIdleMs(reply: unknown): number | null | 'UNKNOWN' {
  const consumers = recordsOf(reply);
  if (consumers === null) return 'UNKNOWN';
  const times = consumers.flatMap((fields) => {
    const time = fields.get('inactive') ?? fields.get('idle');
    return typeof time === 'number' && time >= 0 ? [time] : [];
  });
  return times.length === 0 ? null : Math.min(...times);
}

/** Of the reply of `XRANGE`. */
export function firstEntryId(reply: unknown): string | null {
  const entry: unknown = Array.isArray(reply) ? reply[0] : null;
  const id: unknown = Array.isArray(entry) ? entry[0] : null;
  return typeof id === 'string' ? id : null;
}

/** When an entry came in, by its id: the Redis clock, unless the publisher chose the id itself. */
export function entryTimeMs(id: string | null): EpochMillis | null {
  const text = id === null ? undefined : /^(\d{1,16})-\d+$/.exec(id)?.[1];
  return text === undefined ? null : (Number(text) as EpochMillis);
}

/** Redis answers a list of flat lists of names and values. */
function recordsOf(reply: unknown): readonly ReadonlyMap<string, unknown>[] | null {
  if (!Array.isArray(reply)) return null;
  return reply.map((flat: unknown) => {
    const fields = new Map<string, unknown>();
    if (!Array.isArray(flat)) return fields;
    for (let index = 0; index + 1 < flat.length; index += 2) fields.set(String(flat[index]), flat[index + 1]);
    return fields;
  });
}
