import { beforeEach, describe, expect, it } from '@jest/globals';
import { ShutdownGate } from '../../../src/critical-section/shutdown-gate';
import { FakeClock } from '../../flow/critical-section/fake-clock';

describe('the shutdown gate', () => {
  let clock: FakeClock;
  let gate: ShutdownGate;

  beforeEach(() => {
    clock = new FakeClock();
    gate = new ShutdownGate(clock);
  });

  it('counts who entered and who holds', () => {
    gate.enter();
    gate.enter();
    gate.hold();
    expect([gate.enteredCount, gate.holdingCount]).toEqual([2, 1]);
    gate.leave();
    gate.release();
    expect([gate.enteredCount, gate.holdingCount]).toEqual([1, 0]);
  });

  it('refuses entrants and those who ask again before the lock, once closed', () => {
    gate.close();
    expect(() => gate.enter()).toThrow(expect.objectContaining({ code: 'COORDINATOR_TERMINATING' }));
    expect(() => gate.hold()).toThrow(expect.objectContaining({ retryable: true, retryAfterMs: 1_000 }));
    expect([gate.enteredCount, gate.holdingCount]).toEqual([0, 0]);
  });

  it('tells each listener once, those who come late at once, and not those who left', () => {
    const told: string[] = [];
    gate.onClose(() => told.push('first'));
    gate.onClose(() => told.push('gone'))();
    gate.close();
    gate.close();
    gate.onClose(() => told.push('late'));
    expect(told).toEqual(['first', 'late']);
  });

  it('is drained at once when nobody holds a lock', async () => {
    gate.enter();
    gate.close();
    expect(await gate.drained(1_000)).toBe(true);
    expect(clock.pendingAlarms).toBe(0);
  });

  it('is drained when the last holder has finished, and not before', async () => {
    gate.hold();
    gate.hold();
    gate.close();
    let isDrained: boolean | null = null;
    const drained = gate.drained(1_000).then((outcome) => (isDrained = outcome));
    gate.release();
    await clock.advance(999);
    expect(isDrained).toBeNull();
    gate.release();
    await drained;
    expect(isDrained).toBe(true);
    expect(clock.pendingAlarms).toBe(0);
  });

  it('gives up at the deadline', async () => {
    gate.hold();
    gate.close();
    const drained = gate.drained(1_000);
    await clock.advance(1_000);
    expect(await drained).toBe(false);
  });
});
