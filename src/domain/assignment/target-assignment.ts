import { assertInvariant } from '../assert';
import type { MemberId } from '../ids';

/** What one eligible member holds, may hold and has been given so far, in shards. */
interface Seat {
  readonly memberId: MemberId;
  /** Shards that `previous` names this member for. */
  held: number;
  /** Shards it has in the result: the floor, or one more. */
  quota: number;
  /** Shards placed on it so far; ends at `quota`. */
  placed: number;
}

/**
 * The sticky, balanced target assignment. Source: docs/protocol.md, Target assignment.
 *
 * Shard counts of eligible members differ by at most one, and no assignment with that property moves fewer
 * shards. Every coordinator computes the same from the same input, whatever the order of `eligible`: members are
 * taken in code-unit order of their ids (a locale would differ between hosts), shards in index order.
 *
 * Time grows with shards + members x log(members): each shard is looked at once and dealt at most once.
 *
 * @param previous for each shard index the member that should rather keep it; null, or a member that is not
 *   eligible, makes the shard an orphan. Its length is the shard count.
 * @param eligible the live, eligible members, in any order, without repeats.
 * @returns for each shard index its target; all null when nobody is eligible; equal to `previous` when nothing
 *   must move. Always a new array.
 * @throws InvariantViolationError when `eligible` repeats a member.
 */
export function assignTarget(
  previous: readonly (MemberId | null)[],
  eligible: readonly MemberId[],
): readonly (MemberId | null)[] {
  if (eligible.length === 0) return previous.map(() => null);
  const seats = seatsInIdOrder(eligible);
  const owners = findOwners(previous, seats);
  const floor = Math.floor(previous.length / seats.length);
  setQuotas(seats, floor, previous.length - floor * seats.length);
  const { target, unplaced } = keepWithinQuota(owners);
  dealOut(target, unplaced, seats, floor);
  return target;
}

function seatsInIdOrder(eligible: readonly MemberId[]): readonly Seat[] {
  // Without a comparator the order is that of UTF-16 code units. Never localeCompare.
  return eligible.toSorted().map((memberId) => ({ memberId, held: 0, quota: 0, placed: 0 }));
}

/** The seat of each shard's previous owner, undefined for an orphan; counts what each member holds. */
function findOwners(
  previous: readonly (MemberId | null)[],
  seats: readonly Seat[],
): readonly (Seat | undefined)[] {
  // A Map and not an object: `__proto__` is a member id like any other.
  const seatOf = new Map(seats.map((seat) => [seat.memberId, seat]));
  assertInvariant(seatOf.size === seats.length, 'a member is listed twice among the eligible members');
  return previous.map((memberId) => {
    const seat = memberId === null ? undefined : seatOf.get(memberId);
    if (seat !== undefined) seat.held += 1;
    return seat;
  });
}

/**
 * Everybody gets the floor; `extras` members get one more. An extra saves a move exactly where the member holds
 * more than the floor already, so those come first. Only that choice decides how many shards move.
 */
function setQuotas(seats: readonly Seat[], floor: number, extras: number): void {
  let left = extras;
  for (const seat of seats) {
    const takesExtra = left > 0 && seat.held > floor;
    seat.quota = takesExtra ? floor + 1 : floor;
    if (takesExtra) left -= 1;
  }
  for (const seat of seats) {
    if (left === 0) return;
    if (seat.quota > floor) continue;
    seat.quota = floor + 1;
    left -= 1;
  }
}

/** Each member keeps its lowest indices up to its quota: what it gives up are its highest. */
function keepWithinQuota(owners: readonly (Seat | undefined)[]): {
  readonly target: (MemberId | null)[];
  readonly unplaced: readonly number[];
} {
  const unplaced: number[] = [];
  const target = owners.map((seat, index) => {
    if (seat === undefined || seat.placed === seat.quota) {
      unplaced.push(index);
      return null;
    }
    seat.placed += 1;
    return seat.memberId;
  });
  return { target, unplaced };
}

/**
 * Deals the unplaced shards in index order, each to the member with the lowest count, ties in id order: level by
 * level, one shard at a time to everybody who stands at that level. There are floor + 1 levels, so all passes
 * together look at no more than shards + members seats.
 */
function dealOut(
  target: (MemberId | null)[],
  unplaced: readonly number[],
  seats: readonly Seat[],
  floor: number,
): void {
  let dealt = 0;
  for (let level = 0; level <= floor && dealt < unplaced.length; level += 1) {
    for (const seat of seats) {
      if (seat.placed !== level || seat.placed === seat.quota) continue;
      const index = unplaced[dealt];
      if (index === undefined) break;
      target[index] = seat.memberId;
      seat.placed += 1;
      dealt += 1;
    }
  }
  assertInvariant(dealt === unplaced.length, 'the quotas do not add up to the shard count');
}
