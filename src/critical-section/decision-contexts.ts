import type { DecisionContext, RememberedWrite } from '../domain/coordinator/decision';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { CoordinationTiming, EpochMillis } from '../domain/time';
import { CLOCK_JUMP_TOLERANCE_MS } from './clock-guard';
import type { ClockGuard } from './clock-guard';
import type { LoopKnowledge, LoopView } from './loop-view';
import { tenureRules } from './loop-view';

const THE_OLDEST = 0 as EpochMillis;

/** Builds what a decision may rely on besides the group. */
export class DecisionContexts {
  constructor(
    private readonly timing: CoordinationTiming,
    private readonly maxMembers: number,
    private readonly loopView: LoopKnowledge & Pick<LoopView, 'recordClockJump'>,
    private readonly clockGuard: ClockGuard,
  ) {}

  /** For a section: on what was loaded under its lock. `remembered`: what was known of the group before that. */
  contextOfLoad(
    metadata: GroupMetadata | null,
    { redisNowMs, redisId }: { readonly redisNowMs: EpochMillis; readonly redisId: string },
    remembered: RememberedWrite | null,
  ): DecisionContext {
    if (metadata !== null) this.noticeClockBehind(metadata.updatedAtMs, redisNowMs);
    return this.contextFor(metadata, redisNowMs, redisId, remembered);
  }

  /**
   * `redisNowMs`: as read with the group, or the estimate of it. No section sees an earlier clock than the last write.
   * `redisId`: of the Redis that was read from.
   */
  contextFor(
    metadata: GroupMetadata | null,
    redisNowMs: EpochMillis,
    redisId: string,
    remembered: RememberedWrite | null,
  ): DecisionContext {
    const nowMs = metadata === null ? redisNowMs : later(redisNowMs, metadata.updatedAtMs);
    // For a group that is missing, what holds for the oldest: it may have had a life before.
    const rules = tenureRules(this.loopView, metadata?.createdAtMs ?? THE_OLDEST, redisNowMs);
    return {
      nowMs,
      drawMs: later(nowMs, this.clockGuard.estimateMs() ?? nowMs),
      timing: this.timing,
      mayEndTenures: rules.mayEndTenures,
      mayGrant: rules.mayGrant,
      maxMembers: this.maxMembers,
      recordedVersion: metadata?.metadataVersion ?? null,
      redisId,
      remembered,
    };
  }

  /**
   * The last write is of a later time than it is: the clock went back since, even if this process saw no jump. Decisions go on
   * at the later time, by which every lease seems over; so nobody is ended for as long as that lasts, and one lease more.
   */
  private noticeClockBehind(updatedAtMs: EpochMillis, redisNowMs: EpochMillis): void {
    if (updatedAtMs - redisNowMs <= CLOCK_JUMP_TOLERANCE_MS) return;
    this.loopView.recordClockJump({ causedAtMs: updatedAtMs, redisNowMs });
  }
}

function later(one: EpochMillis, other: EpochMillis): EpochMillis {
  return one > other ? one : other;
}
