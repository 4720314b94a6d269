/** Branded identifiers: two ids of different kinds cannot be mixed up, though both are strings or numbers at run time. */
declare const brand: unique symbol;
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

/** Name of a sharded stream, `[A-Za-z0-9_.:-]{1,200}`. Never braces: they would move the Redis hash slot. */
export type StreamPrefix = Brand<string, 'StreamPrefix'>;
/** Name of a consumer group, `[A-Za-z0-9_.-]{1,128}`. No colon, so that the metadata key is never ambiguous. */
export type ConsumerGroup = Brand<string, 'ConsumerGroup'>;
/** One logical consumer, `[A-Za-z0-9_.:@-]{1,200}`. */
export type MemberId = Brand<string, 'MemberId'>;
/** Random id of one tenure of a member: new for each join, the same on its retries. */
export type InstanceId = Brand<string, 'InstanceId'>;
/** Random id of one life of a group: a group deleted and created again has another one. */
export type Incarnation = Brand<string, 'Incarnation'>;
/** Random id of one committed write: tells apart two writes that drew the same revision around a rollback. */
export type WriteId = Brand<string, 'WriteId'>;
/** Index of a shard, from 0. The stream key is `<streamPrefix>:<shardIndex>`. */
export type ShardIndex = Brand<number, 'ShardIndex'>;

/** The unit of coordination: one consumer group of one sharded stream. */
export interface GroupKey {
  readonly streamPrefix: StreamPrefix;
  readonly consumerGroup: ConsumerGroup;
}

/** `<streamPrefix>:<consumerGroup>`: unambiguous because a consumer group has no colon. Also the member of the group index. */
export function groupKeyText(key: GroupKey): string {
  return `${key.streamPrefix}:${key.consumerGroup}`;
}

/** The inverse of `groupKeyText`; null when the text is not one (a foreign entry in the index). */
export function parseGroupKeyText(text: string): GroupKey | null {
  const colon = text.lastIndexOf(':');
  if (colon < 0) return null;
  const streamPrefix = parseStreamPrefix(text.slice(0, colon));
  const consumerGroup = parseConsumerGroup(text.slice(colon + 1));
  return streamPrefix === null || consumerGroup === null ? null : { streamPrefix, consumerGroup };
}

/**
 * The rules of names, written once: the API's validation, the SDK and the codec all use these. Never `.` or `..`, which URLs
 * resolve away, nor `__proto__`, which is no ordinary key of a JSON object.
 */
export const STREAM_PREFIX_PATTERN = /^(?!\.{1,2}$|__proto__$)[A-Za-z0-9_.:-]{1,200}$/;
export const CONSUMER_GROUP_PATTERN = /^(?!\.{1,2}$|__proto__$)[A-Za-z0-9_.-]{1,128}$/;
export const MEMBER_ID_PATTERN = /^(?!\.{1,2}$|__proto__$)[A-Za-z0-9_.:@-]{1,200}$/;
export const INSTANCE_ID_MAX_LENGTH = 200;

export function parseStreamPrefix(text: string): StreamPrefix | null {
  return STREAM_PREFIX_PATTERN.test(text) ? (text as StreamPrefix) : null;
}

export function parseConsumerGroup(text: string): ConsumerGroup | null {
  return CONSUMER_GROUP_PATTERN.test(text) ? (text as ConsumerGroup) : null;
}

export function parseMemberId(text: string): MemberId | null {
  return MEMBER_ID_PATTERN.test(text) ? (text as MemberId) : null;
}

/** For values that were validated before (by the API's schema, or read from the codec). */
export function shardIndex(value: number): ShardIndex {
  return value as ShardIndex;
}
