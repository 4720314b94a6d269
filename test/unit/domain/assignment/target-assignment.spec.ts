import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvariantViolationError } from '../../../../src/domain/assert';
import { assignTarget } from '../../../../src/domain/assignment/target-assignment';
import type { MemberId } from '../../../../src/domain/ids';

type Assignment = readonly (MemberId | null)[];

const idsOf = (...texts: string[]): MemberId[] => texts as MemberId[];

/** One character per shard: 'a' is the member a, '-' nobody. */
const shardsOf = (text: string): Assignment =>
  Array.from(text).map((character) => (character === '-' ? null : (character as MemberId)));

const textOf = (assignment: Assignment): string => assignment.map((memberId) => memberId ?? '-').join('');

/** Assigns with single-letter members: assign('aab-', 'ab'). */
const assign = (previous: string, eligible: string): string =>
  textOf(assignTarget(shardsOf(previous), Array.from(eligible) as MemberId[]));

function countsOf(assignment: Assignment, eligible: readonly MemberId[]): number[] {
  return eligible.map((memberId) => assignment.filter((owner) => owner === memberId).length);
}

function movesBetween(previous: Assignment, next: Assignment): number {
  return next.filter((owner, index) => owner !== previous[index]).length;
}

function isBalanced(counts: readonly number[]): boolean {
  return Math.max(...counts) - Math.min(...counts) <= 1;
}

/** Tries every assignment there is. Shares no idea with the assignor. */
function fewestMovesByTrial(previous: Assignment, eligible: readonly MemberId[]): number {
  let fewest = Number.POSITIVE_INFINITY;
  for (let code = 0; code < eligible.length ** previous.length; code += 1) {
    const candidate = previous.map(
      (_owner, index) => eligible[Math.floor(code / eligible.length ** index) % eligible.length]!,
    );
    if (isBalanced(countsOf(candidate, eligible))) {
      fewest = Math.min(fewest, movesBetween(previous, candidate));
    }
  }
  return fewest;
}

/**
 * Shards minus the most that can stay: with the counts sorted descending, the largest quotas go to the largest
 * counts (rearrangement), and min(count, quota) of each member stays.
 */
function fewestMovesByFormula(previous: Assignment, eligible: readonly MemberId[]): number {
  const shards = previous.length;
  const kept = countsOf(previous, eligible)
    .sort((left, right) => right - left)
    .map((count, rank) => Math.min(count, Math.ceil((shards - rank) / eligible.length)));
  return shards - kept.reduce((sum, count) => sum + count, 0);
}

/** Names that break plain objects or locale-aware comparison, among ordinary ones. */
const memberPool = idsOf(
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '0', '10', '9', 'a', 'B', 'b', 'A', '_', '-'],
  ...['m.1', 'm-1', 'm:1', 'm_1', 'm@1', 'm1', 'M1'],
);

interface Case {
  readonly previous: Assignment;
  readonly eligible: readonly MemberId[];
}

function casesUpTo(maxShards: number, maxMembers: number, pool = memberPool): fc.Arbitrary<Case> {
  return fc.record({
    previous: fc.array(fc.option(fc.constantFrom(...pool), { freq: 4 }), { maxLength: maxShards }),
    eligible: fc.shuffledSubarray(pool, { minLength: 1, maxLength: maxMembers }),
  });
}

const cases = casesUpTo(80, memberPool.length);
const casesWithOtherOrder = cases.chain(({ previous, eligible }) =>
  fc.record({
    previous: fc.constant(previous),
    eligible: fc.constant(eligible),
    reordered: fc.shuffledSubarray([...eligible], { minLength: eligible.length }),
  }),
);

describe('target assignment', () => {
  it('gives nobody anything when no member is eligible', () => {
    expect(assign('ab-a', '')).toBe('----');
  });

  it('returns nothing for no shards', () => {
    expect(assign('', 'ab')).toBe('');
    expect(assign('', '')).toBe('');
  });

  it('gives everything to a single member', () => {
    expect(assign('---', 'a')).toBe('aaa');
  });

  it('deals orphans in index order to members in id order', () => {
    expect(assign('-----', 'bca')).toBe('abcab');
  });

  it('deals orphans to the lowest counts first, ties in id order', () => {
    expect(assign('aab------', 'abc')).toBe('aabcbcabc');
  });

  it('leaves members without a shard when there are more members than shards', () => {
    expect(assign('--', 'cba')).toBe('ab');
    expect(assign('c-', 'cba')).toBe('ca');
  });

  it('moves nothing when the previous assignment is balanced', () => {
    expect(assign('bbcab', 'abc')).toBe('bbcaa'); // counts 1, 3, 1: the neighbour, where one must move
    expect(assign('bbcaa', 'abc')).toBe('bbcaa');
    expect(assign('cbcb', 'bc')).toBe('cbcb');
  });

  it('takes from members above their share the highest indices', () => {
    expect(assign('aaaa', 'ab')).toBe('aabb');
    expect(assign('abaaba', 'abc')).toBe('abacbc');
  });

  it('gives only the shards of a member that left to the others', () => {
    expect(assign('abcabc', 'ac')).toBe('aacacc');
  });

  it('takes for a member that joined no more than its share', () => {
    expect(assign('aaabbb', 'abc')).toBe('aacbbc');
  });

  it('gives new shards away without moving old ones', () => {
    expect(assign('abba----', 'ab')).toBe('abbaabab');
  });

  it('leaves the shards above the floor with members that already hold that many, not with the lowest id', () => {
    expect(assign('abb', 'ab')).toBe('abb');
    expect(assign('abccc', 'abc')).toBe('abcca'); // c holds its extra; the other one goes to a
  });

  it('leaves the shards above the floor with the lowest ids when more members hold that many than may', () => {
    expect(assign('ccbbaa', 'abcd')).toBe('cdbbaa');
  });

  it('treats a previous owner that is not eligible as no owner', () => {
    expect(assign('xaxb', 'ab')).toBe(assign('-a-b', 'ab'));
    expect(assign('xaxb', 'ab')).toBe('aabb');
  });

  it('orders ids by code unit, not by locale', () => {
    const target = assignTarget([null, null, null, null], idsOf('b', 'a', '_', 'B'));
    expect(target).toEqual(['B', '_', 'a', 'b']);
  });

  it('treats names of object properties as members like any other', () => {
    const members = idsOf('__proto__', 'constructor', 'toString');
    expect(assignTarget(idsOf('toString', '__proto__', 'constructor'), members)).toEqual([
      'toString',
      '__proto__',
      'constructor',
    ]);
    expect(assignTarget(idsOf('constructor', '__proto__', 'toString'), idsOf('a'))).toEqual(['a', 'a', 'a']);
  });

  it('refuses an eligible member that is listed twice', () => {
    expect(() => assignTarget([null], idsOf('a', 'b', 'a'))).toThrow(InvariantViolationError);
  });

  it('changes neither of its arguments', () => {
    const previous = Object.freeze(shardsOf('aab-x'));
    const eligible = Object.freeze(idsOf('c', 'b', 'a'));
    expect(textOf(assignTarget(previous, eligible))).toBe('aabcb');
    expect(textOf(previous)).toBe('aab-x');
    expect(eligible).toEqual(['c', 'b', 'a']);
  });
});

describe('target assignment, for any input', () => {
  it('gives every shard to an eligible member, with counts that differ by at most one', () => {
    fc.assert(
      fc.property(cases, ({ previous, eligible }) => {
        const target = assignTarget(previous, eligible);
        expect(target).toHaveLength(previous.length);
        expect(target.filter((owner) => owner === null || !eligible.includes(owner))).toEqual([]);
        expect(isBalanced(countsOf(target, eligible))).toBe(true);
      }),
    );
  });

  it('moves no more shards than the best of all balanced assignments, found by trying them', () => {
    const pool = idsOf('__proto__', 'a', 'B', 'b');
    fc.assert(
      fc.property(casesUpTo(6, 3, pool), ({ previous, eligible }) => {
        const moves = movesBetween(previous, assignTarget(previous, eligible));
        expect(moves).toBe(fewestMovesByTrial(previous, eligible));
        expect(moves).toBe(fewestMovesByFormula(previous, eligible));
      }),
      { numRuns: 200 },
    );
  });

  it('moves no more shards than the counts require, in larger groups', () => {
    fc.assert(
      fc.property(cases, ({ previous, eligible }) => {
        const moves = movesBetween(previous, assignTarget(previous, eligible));
        expect(moves).toBe(fewestMovesByFormula(previous, eligible));
      }),
      { numRuns: 500 },
    );
  });

  it('computes the same whatever the order of the eligible members', () => {
    fc.assert(
      fc.property(casesWithOtherOrder, ({ previous, eligible, reordered }) => {
        expect(assignTarget(previous, reordered)).toEqual(assignTarget(previous, eligible));
      }),
    );
  });

  it('computes the same again from copies of its input', () => {
    fc.assert(
      fc.property(cases, ({ previous, eligible }) => {
        const copy = JSON.parse(JSON.stringify({ previous, eligible })) as Case;
        expect(assignTarget(copy.previous, copy.eligible)).toEqual(assignTarget(previous, eligible));
      }),
    );
  });

  it('keeps its own result as it is', () => {
    fc.assert(
      fc.property(cases, ({ previous, eligible }) => {
        const target = assignTarget(previous, eligible);
        expect(assignTarget(target, eligible)).toEqual(target);
      }),
    );
  });

  it('keeps any balanced assignment as it is, not only its own', () => {
    fc.assert(
      fc.property(cases, fc.integer(), ({ previous, eligible }, seed) => {
        const dealt = previous.map((_owner, index) => eligible[index % eligible.length]!);
        const turn = Math.abs(seed) % (dealt.length + 1);
        const balanced = [...dealt.slice(turn), ...dealt.slice(0, turn)];
        expect(assignTarget(balanced, eligible)).toEqual(balanced);
      }),
    );
  });

  it('takes from each member its highest indices only', () => {
    fc.assert(
      fc.property(cases, ({ previous, eligible }) => {
        const target = assignTarget(previous, eligible);
        for (const memberId of eligible) {
          const held = [...previous.keys()].filter((index) => previous[index] === memberId);
          const keptFlags = held.map((index) => target[index] === memberId);
          const firstGivenUp = keptFlags.indexOf(false);
          if (firstGivenUp >= 0) expect(keptFlags.slice(firstGivenUp)).not.toContain(true);
        }
      }),
    );
  });

  it('never moves a shard between two members that both stay when one joins or leaves a balanced group', () => {
    fc.assert(
      fc.property(casesUpTo(80, memberPool.length), ({ previous, eligible }) => {
        const before = assignTarget(previous, eligible);
        const [changed, ...others] = eligible;
        if (others.length === 0) return;
        const afterLeave = assignTarget(before, others);
        expect(movesBetween(before, afterLeave)).toBe(before.filter((owner) => owner === changed).length);
        const afterJoin = assignTarget(afterLeave, eligible);
        expect(movesBetween(afterLeave, afterJoin)).toBe(
          afterJoin.filter((owner) => owner === changed).length,
        );
      }),
    );
  });
});
