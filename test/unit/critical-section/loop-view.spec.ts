import { describe, expect, it } from '@jest/globals';
import { LoopView, outageAfterMs, tenureRules } from '../../../src/critical-section/loop-view';
import type { LoopKnowledge } from '../../../src/critical-section/loop-view';
import type { EpochMillis } from '../../../src/domain/time';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';

const ms = (value: number) => value as EpochMillis;
const NOW = ms(1_000_000);
const OLD_GROUP = ms(1);

const PASSED: LoopKnowledge = {
  lastPassMs: NOW,
  quiet: null,
  localQuiet: null,
  hasConnectionErrorSincePass: false,
  outageAfterMs: 7_500,
};

const NEITHER = { mayEndTenures: false, mayGrant: false };
const GRANT_ONLY = { mayEndTenures: false, mayGrant: true };
const BOTH = { mayEndTenures: true, mayGrant: true };

describe('what a decision may do', () => {
  it('is everything for who has just passed', () => {
    expect(tenureRules(PASSED, OLD_GROUP, NOW)).toEqual(BOTH);
  });

  it('is neither to end nor to grant before the first pass', () => {
    expect(tenureRules({ ...PASSED, lastPassMs: null }, OLD_GROUP, NOW)).toEqual(NEITHER);
  });

  it('is neither after a connection error, until the next pass', () => {
    expect(tenureRules({ ...PASSED, hasConnectionErrorSincePass: true }, OLD_GROUP, NOW)).toEqual(NEITHER);
  });

  it('is neither once the last pass is older than an outage', () => {
    expect(tenureRules({ ...PASSED, lastPassMs: ms(NOW - 7_500) }, OLD_GROUP, NOW)).toEqual(BOTH);
    expect(tenureRules({ ...PASSED, lastPassMs: ms(NOW - 7_501) }, OLD_GROUP, NOW)).toEqual(NEITHER);
  });

  it('is to grant, but not to end, until a quiet period is over', () => {
    const quiet = { causedAtMs: ms(NOW - 100), untilMs: ms(NOW + 1) };
    expect(tenureRules({ ...PASSED, quiet }, OLD_GROUP, NOW)).toEqual(GRANT_ONLY);
    expect(tenureRules({ ...PASSED, quiet }, OLD_GROUP, ms(NOW + 1))).toEqual(BOTH);
  });

  it('is everything in a group that was created after the cause of the quiet period', () => {
    const quiet = { causedAtMs: ms(NOW - 100), untilMs: ms(NOW + 10_000) };
    expect(tenureRules({ ...PASSED, quiet }, ms(NOW - 101), NOW)).toEqual(GRANT_ONLY);
    expect(tenureRules({ ...PASSED, quiet }, ms(NOW - 100), NOW)).toEqual(BOTH);
  });

  it('is to grant only after a clock jump that was noticed here, whatever the last pass said', () => {
    const localQuiet = { causedAtMs: NOW, untilMs: ms(NOW + 15_000) };
    expect(tenureRules({ ...PASSED, localQuiet }, OLD_GROUP, NOW)).toEqual(GRANT_ONLY);
  });
});

describe('an outage', () => {
  it('begins after three ticks or half a lease, whichever is longer', () => {
    expect(outageAfterMs(DEFAULT_TIMING)).toBe(7_500);
    expect(outageAfterMs({ ...DEFAULT_TIMING, tickIntervalMs: 5_000 })).toBe(15_000);
  });
});

describe('the record of passes', () => {
  const pass = { redisNowMs: NOW, quiet: null };

  it('forgets a connection error with the next pass that began after it', () => {
    const view = new LoopView(DEFAULT_TIMING);
    view.recordConnectionError();
    expect(view.hasConnectionErrorSincePass).toBe(true);
    view.recordPass(view.beginPass(), pass);
    expect(view.hasConnectionErrorSincePass).toBe(false);
  });

  it('keeps a connection error that came while the pass was under way', () => {
    const view = new LoopView(DEFAULT_TIMING);
    const ticket = view.beginPass();
    view.recordConnectionError();
    view.recordPass(ticket, pass);
    expect(view.hasConnectionErrorSincePass).toBe(true);
  });

  it('reports a clock jump with each pass until one that carried it succeeded', () => {
    const view = new LoopView(DEFAULT_TIMING);
    view.recordClockJump({ causedAtMs: NOW, redisNowMs: NOW });
    expect(view.beginPass().clockJumped).toBe(true);
    const ticket = view.beginPass(); // the first one failed
    expect(ticket.clockJumped).toBe(true);
    view.recordPass(ticket, pass);
    expect(view.beginPass().clockJumped).toBe(false);
  });

  it('reports again a jump that came while the pass was under way', () => {
    const view = new LoopView(DEFAULT_TIMING);
    const ticket = view.beginPass();
    view.recordClockJump({ causedAtMs: NOW, redisNowMs: NOW });
    view.recordPass(ticket, pass);
    expect(view.beginPass().clockJumped).toBe(true);
  });

  it('is quiet for one lease from a jump on', () => {
    const view = new LoopView(DEFAULT_TIMING);
    view.recordPass(view.beginPass(), pass);
    view.recordClockJump({ causedAtMs: NOW, redisNowMs: NOW });
    expect(tenureRules(view, OLD_GROUP, NOW).mayEndTenures).toBe(false);
    view.recordPass(view.beginPass(), { redisNowMs: ms(NOW + 15_000), quiet: null });
    expect(tenureRules(view, OLD_GROUP, ms(NOW + 15_000)).mayEndTenures).toBe(true);
  });
});
