import { describe, expect, it } from '@jest/globals';
import { FAULT_KINDS } from './faults';
import type { FaultKind } from './faults';
import { runSchedule } from './schedule';

/** The seeds that every run of the tests looks at; `npm run simulate -- --seeds 1..10000` looks at many more. */
const SEEDS_PER_TEST = 25;
const FIRST_SEEDS = [1, 26, 51, 76, 101, 126, 151, 176];

describe('schedules with faults', () => {
  const faults = new Map<FaultKind, number>();

  it.each(FIRST_SEEDS)(
    `keep every promise and come to rest, seeds %d and the next ${SEEDS_PER_TEST - 1}`,
    async (first) => {
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed += 1) {
        const { violations, faults: suffered } = await runSchedule({
          seed,
          keepsTrace: false,
          without: new Set(),
        });
        expect({ seed, violations }).toEqual({ seed, violations: [] });
        for (const [kind, count] of suffered) faults.set(kind, (faults.get(kind) ?? 0) + count);
      }
    },
  );

  it('had every kind of fault among them', () => {
    expect(FAULT_KINDS.filter((kind) => (faults.get(kind) ?? 0) === 0)).toEqual([]);
  });
});
