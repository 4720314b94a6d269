import { describe, expect, it } from '@jest/globals';
import { ClockGuard } from '../../../src/critical-section/clock-guard';
import { DecisionContexts } from '../../../src/critical-section/decision-contexts';
import { LoopView } from '../../../src/critical-section/loop-view';
import { systemClock } from '../../../src/critical-section/runtime-ports';
import type { EpochMillis } from '../../../src/domain/time';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import { GroupWorld } from '../../support/group-world';

/** A group whose last write is `aheadMs` later than it is now by the Redis clock. */
function writtenAhead(aheadMs: number) {
  const { metadata } = GroupWorld.withShards(1);
  const redisNowMs = (metadata.updatedAtMs - aheadMs) as EpochMillis;
  const loopView = new LoopView(DEFAULT_TIMING);
  loopView.recordPass(loopView.beginPass(), { redisNowMs, quiet: null });
  const guard = new ClockGuard(systemClock, () => undefined);
  const old = { ...metadata, createdAtMs: 0 as EpochMillis };
  return {
    metadata: old,
    redisNowMs,
    loopView,
    contexts: new DecisionContexts(DEFAULT_TIMING, 10, loopView, guard),
  };
}

describe('a write of a later time than it is', () => {
  it('ends nobody and is reported as a clock jump, once it was loaded and beyond the tolerance', () => {
    const { metadata, redisNowMs, loopView, contexts } = writtenAhead(1_001);
    const context = contexts.contextOfLoad(metadata, { redisNowMs, redisId: 'r' }, null);
    expect(context).toMatchObject({ nowMs: metadata.updatedAtMs, mayEndTenures: false });
    expect(loopView.beginPass().clockJumped).toBe(true);
  });

  it('within the tolerance is drift', () => {
    const { metadata, redisNowMs, loopView, contexts } = writtenAhead(1_000);
    const context = contexts.contextOfLoad(metadata, { redisNowMs, redisId: 'r' }, null);
    expect(context.mayEndTenures).toBe(true);
    expect(loopView.beginPass().clockJumped).toBe(false);
  });

  it('says nothing against an estimate of the clock, which may lie far below it', () => {
    const { metadata, redisNowMs, loopView, contexts } = writtenAhead(5_000);
    contexts.contextFor(metadata, redisNowMs, 'r', null);
    expect(loopView.beginPass().clockJumped).toBe(false);
  });
});
