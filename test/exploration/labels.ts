import type { InstanceId } from '../../src/domain/ids';

/**
 * The numbers of a state. Versions are only ever compared, so a state needs their order and nothing else: they are labels from 1
 * on without gaps, each the rank of the number that it stands for. 0 stands for none, 1 for the version at which the group was
 * created, and what a decision draws gets FRESH, above all others, until the state is labelled anew. A set of labels is a bit
 * mask.
 */
export const NONE = 0;
export const CREATION = 1;
export const FRESH = 30;
export const ALWAYS_USED = (1 << NONE) | (1 << CREATION);

/**
 * Epochs and ids of tenures are only compared for equality, and only within one member. Each member has eight labels of both
 * kinds: the first epoch stands for all that are recorded nowhere any more, the last label for a new one.
 */
const PER_MEMBER = 8;
const NO_INSTANCE = -1;
/** Above what stands for no epoch, and below what the core draws. */
const EPOCHS = 32;
export const LAST_EPOCH = 999;
export const DEAD_EPOCHS = 0x01010101;

export function versionRank(label: number, used: number): number {
  return bitCount(used & ((1 << label) - 1));
}

/** The label of an epoch as the core recorded it. */
export function epochLabel(epoch: number, member: number): number {
  return epoch > LAST_EPOCH ? EPOCHS + member * PER_MEMBER + PER_MEMBER - 1 : epoch;
}

export function epochRank(label: number, used: number): number {
  return label <= NONE ? label : EPOCHS + rankInMember(label - EPOCHS, used);
}

/** The epoch that stands for all of its member that are recorded nowhere. */
export function deadEpoch(label: number): number {
  return label <= NONE ? label : label - (label % PER_MEMBER);
}

export function bitOfEpoch(label: number): number {
  return label <= NONE ? 0 : 1 << (label - EPOCHS);
}

export function newInstance(member: number): number {
  return member * PER_MEMBER + PER_MEMBER - 1;
}

/** An id that nobody else has says as little as none. */
export function instanceRank(label: number, used: number): number {
  return (used & bitOfInstance(label)) === 0 ? NO_INSTANCE : rankInMember(label, used);
}

export function bitOfInstance(label: number): number {
  return label === NO_INSTANCE ? 0 : 1 << label;
}

export function instanceId(label: number): InstanceId | null {
  return label === NO_INSTANCE ? null : (`${label}` as InstanceId);
}

export function instanceLabel(id: InstanceId | null): number {
  return id === null ? NO_INSTANCE : Number(id);
}

function rankInMember(label: number, used: number): number {
  const first = label - (label % PER_MEMBER);
  const below = ((1 << label) - 1) & ~((1 << first) - 1);
  return first + bitCount(used & below);
}

export function bitCount(mask: number): number {
  let bits = mask - ((mask >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The elements of a set of small numbers. */
export function bitsOf(mask: number): number[] {
  const bits: number[] = [];
  for (let bit = 0; mask >>> bit !== 0; bit += 1) if ((mask & (1 << bit)) !== 0) bits.push(bit);
  return bits;
}

export function maskOf(bits: Iterable<number>): number {
  let mask = 0;
  for (const bit of bits) mask |= 1 << bit;
  return mask;
}
