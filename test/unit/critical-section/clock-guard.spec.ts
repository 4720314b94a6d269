import { describe, expect, it } from '@jest/globals';
import { ClockGuard, narrowOffset } from '../../../src/critical-section/clock-guard';
import type { ClockReading } from '../../../src/critical-section/clock-guard';
import type { EpochMillis, MonotonicMillis } from '../../../src/domain/time';
import { FakeClock } from '../../flow/critical-section/fake-clock';

function reading(sentMs: number, receivedMs: number, redisNowMs: number): ClockReading {
  return {
    sentMs: sentMs as MonotonicMillis,
    receivedMs: receivedMs as MonotonicMillis,
    redisNowMs: redisNowMs as EpochMillis,
  };
}

const at = (offsetMs: number) => ({ lowMs: offsetMs, highMs: offsetMs });

describe('the offset of the Redis clock', () => {
  it('lies between what the sending and the receipt of a call allow', () => {
    expect(narrowOffset(null, reading(100, 110, 5_000))).toEqual({
      bounds: { lowMs: 4_890, highMs: 4_900 },
      hasJumped: false,
    });
  });

  it('keeps the tighter bounds of two calls', () => {
    const { bounds } = narrowOffset({ lowMs: 4_890, highMs: 4_900 }, reading(200, 203, 5_098));
    expect(bounds).toEqual({ lowMs: 4_895, highMs: 4_898 });
  });

  it.each([
    ['forward', 1_000, false],
    ['forward', 1_001, true],
    ['back', -1_000, false],
    ['back', -1_001, true],
  ])('set %s by %d ms outside the bracket: a jump is %s', (_direction, byMs, isJump) => {
    expect(narrowOffset(at(5_000), reading(100, 100, 5_100 + byMs)).hasJumped).toBe(isJump);
  });

  it('does not take a slow answer for a jump', () => {
    expect(narrowOffset(at(5_000), reading(100, 3_100, 5_150)).hasJumped).toBe(false);
    expect(narrowOffset(at(5_000), reading(100, 3_100, 8_100)).hasJumped).toBe(false);
  });

  it('sees a jump behind a slow call at the next fast one', () => {
    const slow = narrowOffset(at(5_000), reading(1_000, 11_000, 15_500)); // jumped by 9 s while it waited
    expect(slow.hasJumped).toBe(false);
    expect(narrowOffset(slow.bounds, reading(12_000, 12_000, 26_000)).hasJumped).toBe(true);
  });

  it('follows a drift without ever calling it a jump', () => {
    let bounds = at(5_000);
    for (let step = 1; step <= 100; step += 1) {
      const moved = narrowOffset(bounds, reading(step * 1_000, step * 1_000, 5_000 + step * 1_100));
      expect(moved.hasJumped).toBe(false);
      bounds = moved.bounds;
    }
  });
});

describe('the clock guard', () => {
  function guarded() {
    const clock = new FakeClock();
    const jumps: { causedAtMs: EpochMillis; redisNowMs: EpochMillis }[] = [];
    return { clock, jumps, guard: new ClockGuard(clock, (jump) => jumps.push(jump)) };
  }

  it('estimates nothing before the first reading, then the last one plus the time since', () => {
    const { clock, guard } = guarded();
    expect(guard.estimateMs()).toBeNull();
    guard.observe(reading(990, 1_000, 50_000));
    expect(guard.estimateMs()).toBe(50_000);
    clock.jump(250);
    expect(guard.estimateMs()).toBe(50_250);
  });

  it('is never ahead of the Redis clock for an answer that took long', () => {
    const { guard, clock } = guarded();
    clock.jump(1_000); // now 2,000
    guard.observe(reading(1_000, 2_000, 50_000)); // Redis may stand anywhere between 50,000 and 51,000
    expect(guard.estimateMs()).toBe(50_000);
  });

  it('reports a jump forward as caused now', () => {
    const { guard, jumps } = guarded();
    guard.observe(reading(0, 0, 50_000));
    guard.observe(reading(10, 10, 60_000));
    expect(jumps).toEqual([{ causedAtMs: 60_000, redisNowMs: 60_000 }]);
  });

  it('reports a jump back as caused at the time expected, so that groups made before it count as older', () => {
    const { guard, jumps } = guarded();
    guard.observe(reading(0, 0, 50_000));
    guard.observe(reading(10, 10, 20_000));
    expect(jumps).toEqual([{ causedAtMs: 50_010, redisNowMs: 20_000 }]);
    guard.observe(reading(20, 20, 20_010)); // the new time is the time now
    expect(jumps).toHaveLength(1);
  });
});
