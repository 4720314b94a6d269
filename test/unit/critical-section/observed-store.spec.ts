import { beforeEach, describe, expect, it } from '@jest/globals';
import { ClockGuard } from '../../../src/critical-section/clock-guard';
import { LoopView } from '../../../src/critical-section/loop-view';
import { isConnectionFault, observeCall, observeFaults } from '../../../src/critical-section/observed-store';
import type { EpochMillis } from '../../../src/domain/time';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import { StoreError, type StoreFault } from '../../../src/store/metadata-store';
import { FakeClock } from '../../flow/critical-section/fake-clock';

const FAULTS: Readonly<Record<StoreFault, boolean>> = {
  CONNECTION: true,
  TIMEOUT: true,
  LOADING: true,
  READ_ONLY: true,
  CLUSTER_REDIRECT: true,
  OUT_OF_MEMORY: false,
  NOT_AUTHENTICATED: false,
  NOT_PERMITTED: false,
  UNEXPECTED: false,
};

describe('a call to Redis', () => {
  let clock: FakeClock;
  let loopView: LoopView;
  let clockGuard: ClockGuard;

  beforeEach(() => {
    clock = new FakeClock();
    loopView = new LoopView(DEFAULT_TIMING);
    clockGuard = new ClockGuard(clock, () => undefined);
  });

  const observers = () => ({ clock, clockGuard, loopView });

  it('tells the Redis clock, between its sending and its answer', async () => {
    await observeCall(async () => {
      clock.jump(40);
      return { redisNowMs: 50_000 as EpochMillis };
    }, observers());
    expect(clockGuard.estimateMs()).toBe(50_000);
    clock.jump(60);
    expect(clockGuard.estimateMs()).toBe(50_060);
  });

  it('tells nothing of the clock when its answer has no time', async () => {
    await observeCall(() => Promise.resolve({ kind: 'STALE' }), observers());
    expect(clockGuard.estimateMs()).toBeNull();
  });

  it.each(Object.entries(FAULTS))(
    'that fails with %s counts as a lost connection: %s',
    async (fault, isLost) => {
      const error = new StoreError('load', fault as StoreFault, true, { cause: null });
      await expect(observeFaults(() => Promise.reject(error), observers())).rejects.toBe(error);
      expect(loopView.hasConnectionErrorSincePass).toBe(isLost);
      expect(isConnectionFault(fault as StoreFault)).toBe(isLost);
    },
  );

  it('that fails by a defect says nothing of the connection', async () => {
    await expect(observeFaults(() => Promise.reject(new Error('defect')), observers())).rejects.toThrow(
      'defect',
    );
    expect(loopView.hasConnectionErrorSincePass).toBe(false);
  });
});
