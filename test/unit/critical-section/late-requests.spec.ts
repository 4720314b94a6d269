import { describe, expect, it } from '@jest/globals';
import { LateRequests } from '../../../src/critical-section/late-requests';
import { FakeClock } from '../../flow/critical-section/fake-clock';

const BOUNDS = { lullMs: 100, atMostMs: 1_000 };

describe('requests that come after termination has begun', () => {
  function waiting(): { clock: FakeClock; late: LateRequests; isOver: () => boolean } {
    const clock = new FakeClock();
    const late = new LateRequests(clock);
    let isOver = false;
    late.came(); // long before the wait: does not count
    late.lull(BOUNDS).then(
      () => (isOver = true),
      () => undefined,
    );
    return { clock, late, isOver: () => isOver };
  }

  it('are waited for no longer than a lull when none comes', async () => {
    const { clock, isOver } = waiting();
    await clock.advance(99);
    expect(isOver()).toBe(false);
    await clock.advance(1);
    expect(isOver()).toBe(true);
  });

  it('begin the lull anew', async () => {
    const { clock, late, isOver } = waiting();
    await clock.advance(60);
    late.came();
    await clock.advance(99);
    expect(isOver()).toBe(false);
    await clock.advance(1);
    expect(isOver()).toBe(true);
  });

  it('do not hold up the end for ever', async () => {
    const { clock, late, isOver } = waiting();
    for (let passedMs = 0; passedMs < 950; passedMs += 50) {
      await clock.advance(50);
      late.came();
    }
    expect(isOver()).toBe(false);
    await clock.advance(50);
    expect(isOver()).toBe(true);
  });
});
