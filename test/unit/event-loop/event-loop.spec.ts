import { beforeEach, describe, expect, it } from '@jest/globals';
import { LoopView } from '../../../src/critical-section/loop-view';
import { ClockGuard } from '../../../src/critical-section/clock-guard';
import type { EpochMillis } from '../../../src/domain/time';
import { EventLoop } from '../../../src/event-loop/event-loop';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import type { LoopPass, LoopStore } from '../../../src/store/group-index';
import { StoreError } from '../../../src/store/metadata-store';
import { FakeClock, settle } from '../../flow/critical-section/fake-clock';
import { KEY } from '../../flow/critical-section/section-world';

type PassRequest = Parameters<LoopStore['pass']>[0];

const NOW = 1_000_000 as EpochMillis;
const DUE: LoopPass['due'] = [{ key: KEY, dueMs: NOW }];

describe('a tick of the event loop', () => {
  let clock: FakeClock;
  let gate: { isClosed: boolean };
  let loopView: LoopView;
  let asked: PassRequest[];
  let answer: () => Promise<LoopPass>;
  let finishWork: () => void;
  let works: number;
  let outcomes: string[];
  let lags: number[];
  let loop: EventLoop;

  const passed = (due: LoopPass['due'] = []): LoopPass => ({ redisNowMs: NOW, quiet: null, due });

  beforeEach(() => {
    clock = new FakeClock();
    gate = { isClosed: false };
    loopView = new LoopView(DEFAULT_TIMING);
    asked = [];
    works = 0;
    outcomes = [];
    lags = [];
    answer = () => Promise.resolve(passed());
    loop = new EventLoop({
      coordinatorId: 'c-1',
      timing: DEFAULT_TIMING,
      loopStore: {
        pass: (request) => {
          asked.push(request);
          return answer();
        },
      },
      dueGroups: {
        lookAt: () => {
          works += 1;
          return new Promise((resolve) => (finishWork = resolve));
        },
      },
      gate,
      loopView,
      clockGuard: new ClockGuard(clock, (jump) => loopView.recordClockJump(jump)),
      clock,
      faults: { report: (kind) => outcomes.push(kind) },
      metrics: {
        loopPassEnded: (outcome) => outcomes.push(outcome),
        loopPassLagged: (ms) => lags.push(ms),
        loopGroupFailed: () => undefined,
        loopGroupMissing: () => undefined,
      },
    });
  });

  it('is one call when nothing is due', async () => {
    await loop.tick();
    expect(asked).toEqual([
      {
        coordinatorId: 'c-1',
        outageAfterMs: 7_500,
        leaseTtlMs: 15_000,
        clockJumped: false,
        hasPassed: false,
        limit: 1_000,
      },
    ]);
    expect(works).toBe(0);
    expect(loopView.lastPassMs).toBe(NOW);
    await loop.tick();
    expect(asked[1]?.hasPassed).toBe(true);
  });

  it('only records the pass while earlier work is under way, and asks for work again afterwards', async () => {
    answer = () => Promise.resolve(passed(DUE));
    await loop.tick();
    answer = () => Promise.resolve(passed());
    await loop.tick();
    expect(asked.map(({ limit }) => limit)).toEqual([1_000, 0]);
    expect([works, loop.isWorking]).toEqual([1, true]);
    finishWork();
    await loop.idle();
    await loop.tick();
    expect(asked[2]?.limit).toBe(1_000);
  });

  it('does nothing while the pass before still waits for Redis', async () => {
    let finishPass: (pass: LoopPass) => void = () => undefined;
    answer = () => new Promise((resolve) => (finishPass = resolve));
    const first = loop.tick();
    await loop.tick();
    expect(asked).toHaveLength(1);
    finishPass(passed());
    await first;
    expect(outcomes).toEqual(['SKIPPED', 'PASSED']);
  });

  it.each([
    ['a lost connection', new StoreError('pass', 'CONNECTION', true, { cause: null }), 'CONNECTION'],
    ['a full Redis', new StoreError('pass', 'OUT_OF_MEMORY', true, { cause: null }), 'OUT_OF_MEMORY'],
    ['a defect', new Error('defect'), 'UNEXPECTED'],
  ])('that fails by %s forbids to end and to grant until the next one', async (_title, error, fault) => {
    answer = () => Promise.reject(error);
    await loop.tick();
    expect(loopView.hasConnectionErrorSincePass).toBe(true);
    expect(outcomes).toEqual(['FAILED', `event-loop:pass:${fault}`]);
    answer = () => Promise.resolve(passed());
    await loop.tick();
    expect(loopView.hasConnectionErrorSincePass).toBe(false);
  });

  it('reports a clock jump', async () => {
    loopView.recordClockJump({ causedAtMs: NOW, redisNowMs: NOW });
    await loop.tick();
    await loop.tick();
    expect(asked.map(({ clockJumped }) => clockJumped)).toEqual([true, false]);
  });

  it('notices itself that the Redis clock jumped, and reports it with the next pass', async () => {
    await loop.tick();
    clock.jump(1_000);
    answer = () => Promise.resolve({ ...passed(), redisNowMs: (NOW + 60_000) as EpochMillis });
    await loop.tick();
    expect(loopView.localQuiet).toEqual({ causedAtMs: NOW + 60_000, untilMs: NOW + 75_000 });
    await loop.tick();
    expect(asked.map(({ clockJumped }) => clockJumped)).toEqual([false, false, true]);
  });

  it('does not happen after the gate closed', async () => {
    gate.isClosed = true;
    await loop.tick();
    expect(asked).toEqual([]);
  });

  it('measures how late it begins', async () => {
    await loop.tick();
    clock.jump(1_250);
    await loop.tick();
    await settle();
    expect(lags).toEqual([250]);
  });
});
