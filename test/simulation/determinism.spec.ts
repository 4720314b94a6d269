import { describe, expect, it } from '@jest/globals';
import { SeededRandom } from './random';
import { runSchedule } from './schedule';
import { Scheduler, SimulatedProcess } from './scheduler';

const ALL_FAULTS = { without: new Set<never>() };

describe('a schedule', () => {
  it.each([3, 8, 21])('of seed %d has the same history each time', async (seed) => {
    const first = await runSchedule({ seed, keepsTrace: true, ...ALL_FAULTS });
    const second = await runSchedule({ seed, keepsTrace: true, ...ALL_FAULTS });
    expect(first.trace.length).toBeGreaterThan(100);
    expect(second.traceHash).toBe(first.traceHash);
    expect(second.steps).toBe(first.steps);
  });

  it('does not depend on whether its history is kept', async () => {
    const seen = await runSchedule({ seed: 5, keepsTrace: true, ...ALL_FAULTS });
    const unseen = await runSchedule({ seed: 5, keepsTrace: false, ...ALL_FAULTS });
    expect([unseen.steps, unseen.checks, unseen.virtualMs]).toEqual([
      seen.steps,
      seen.checks,
      seen.virtualMs,
    ]);
    expect([...unseen.faults]).toEqual([...seen.faults]);
  });

  it('of another seed has another history', async () => {
    const one = await runSchedule({ seed: 1, keepsTrace: true, ...ALL_FAULTS });
    const other = await runSchedule({ seed: 2, keepsTrace: true, ...ALL_FAULTS });
    expect(other.traceHash).not.toBe(one.traceHash);
  });
});

describe('virtual time', () => {
  const always = (): boolean => true;

  it('runs events by time, then in the order in which they were asked for, each with what it made ready', async () => {
    const scheduler = new Scheduler();
    const seen: string[] = [];
    scheduler.after(5, null, () => seen.push('late'));
    scheduler.after(1, null, () => {
      seen.push('first');
      Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => seen.push('first, continued'))
        .catch((error: unknown) => seen.push(String(error)));
    });
    scheduler.after(1, null, () => seen.push('second'));
    const cancel = scheduler.after(2, null, () => seen.push('cancelled'));
    cancel();
    await scheduler.run(10, always);
    expect(seen).toEqual(['first', 'first, continued', 'second', 'late']);
    expect(scheduler.nowMs).toBe(10);
  });

  it('holds the events of a paused process back in their order, and drops those of a crashed one', async () => {
    const scheduler = new Scheduler();
    const [paused, crashed] = [new SimulatedProcess('paused'), new SimulatedProcess('crashed')];
    const seen: string[] = [];
    for (const delayMs of [3, 1, 2]) {
      scheduler.after(delayMs, paused, () => seen.push(`${delayMs} at ${scheduler.nowMs}`));
      scheduler.after(delayMs, crashed, () => seen.push('never'));
    }
    paused.resumesAtMs = 7;
    crashed.crash();
    await scheduler.run(20, always);
    expect(seen).toEqual(['1 at 7', '2 at 7', '3 at 7']);
  });
});

describe('seeded chance', () => {
  it('repeats itself for a seed, and is spread evenly', () => {
    const [one, same] = [new SeededRandom(7), new SeededRandom(7)];
    const drawn = Array.from({ length: 4_000 }, () => one.next());
    expect(drawn.slice(0, 50)).toEqual(Array.from({ length: 50 }, () => same.next()));
    const mean = drawn.reduce((sum, value) => sum + value, 0) / drawn.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.03);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(1);
  });
});
