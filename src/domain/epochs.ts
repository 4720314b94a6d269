import type { Brand } from './ids';
import type { EpochMillis } from './time';

/** Every committed write, +1. Guards against a stale writer (compare-and-set). */
export type StoreRevision = Brand<number, 'StoreRevision'>;
/** Moves with anything that a client is told; drawn from the Redis clock. Guards against stale reports and views. */
export type MetadataVersion = Brand<number, 'MetadataVersion'>;
/** Membership or the shard set changed, +1. */
export type GroupEpoch = Brand<number, 'GroupEpoch'>;
/** The target assignment changed, +1. For observation. */
export type AssignmentEpoch = Brand<number, 'AssignmentEpoch'>;
/** One tenure of a member; drawn from the Redis clock. Guards against zombie incarnations. */
export type MemberEpoch = Brand<number, 'MemberEpoch'>;
/** Of one shard grant; grows with each grant of the shard. Guards the data plane against zombies. */
export type FencingToken = Brand<number, 'FencingToken'>;

/** The next of a number that must not repeat even after Redis lost its last writes: the larger of last + 1 and the clock. */
export function drawNext<Number_ extends MetadataVersion | MemberEpoch | FencingToken>(
  last: Number_,
  drawMs: EpochMillis,
): Number_ {
  return Math.max(last + 1, drawMs) as Number_;
}

/** The next of a number that counts up by one. */
export function countNext<Number_ extends StoreRevision | GroupEpoch | AssignmentEpoch>(
  last: Number_,
): Number_ {
  return (last + 1) as Number_;
}
