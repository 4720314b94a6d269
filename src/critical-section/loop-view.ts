import type { CoordinationTiming, EpochMillis } from '../domain/time';
import type { LoopPass, QuietPeriod } from '../store/group-index';

const OUTAGE_TICKS = 3;

/** Without a pass for longer than this, a time began in which members could not renew their leases. Milliseconds. */
export function outageAfterMs(timing: CoordinationTiming): number {
  return Math.max(OUTAGE_TICKS * timing.tickIntervalMs, timing.memberLeaseTtlMs / 2);
}

/** What this coordinator knows of the passes of its event loop on the Redis node. */
export interface LoopKnowledge {
  /** Redis clock of its own last pass; null before the first. */
  readonly lastPassMs: EpochMillis | null;
  /** As the last pass reported it. */
  readonly quiet: QuietPeriod | null;
  /** From a clock jump that this process noticed itself. */
  readonly localQuiet: QuietPeriod | null;
  readonly hasConnectionErrorSincePass: boolean;
  readonly outageAfterMs: number;
}

/** What a decision may do besides answering. */
export interface TenureRules {
  readonly mayEndTenures: boolean;
  readonly mayGrant: boolean;
}

const NEITHER: TenureRules = { mayEndTenures: false, mayGrant: false };
const GRANT_ONLY: TenureRules = { mayEndTenures: false, mayGrant: true };
const BOTH: TenureRules = { mayEndTenures: true, mayGrant: true };

/**
 * Whether tenures may end and shards may be granted in a group (docs/protocol.md, quiet period). Neither, as long as this
 * coordinator has not passed since it last lost Redis, or has not passed for the time of an outage: it cannot know then who
 * was kept from renewing. In a quiet period grants go on, but nobody of a group that existed at its cause is ended.
 */
export function tenureRules(
  view: LoopKnowledge,
  groupCreatedAtMs: EpochMillis,
  redisNowMs: EpochMillis,
): TenureRules {
  if (view.lastPassMs === null || view.hasConnectionErrorSincePass) return NEITHER;
  if (redisNowMs - view.lastPassMs > view.outageAfterMs) return NEITHER;
  const isQuiet =
    isQuietFor(view.quiet, groupCreatedAtMs, redisNowMs) ||
    isQuietFor(view.localQuiet, groupCreatedAtMs, redisNowMs);
  return isQuiet ? GRANT_ONLY : BOTH;
}

function isQuietFor(
  quiet: QuietPeriod | null,
  groupCreatedAtMs: EpochMillis,
  redisNowMs: EpochMillis,
): boolean {
  return quiet !== null && quiet.untilMs > redisNowMs && groupCreatedAtMs < quiet.causedAtMs;
}

/** Handed out when a pass begins: what happens after that moment is not settled by its success. */
export interface PassTicket {
  readonly errorsSeen: number;
  readonly jumpsSeen: number;
  /** To be reported with the pass. */
  readonly clockJumped: boolean;
}

/**
 * The mutable record behind `LoopKnowledge`. Errors and jumps are counted, not flagged: a pass that was sent before an error
 * proves nothing about the time after it, and a jump stays to be reported until a pass that carried it has succeeded.
 */
export class LoopView implements LoopKnowledge {
  lastPassMs: EpochMillis | null = null;
  quiet: QuietPeriod | null = null;
  localQuiet: QuietPeriod | null = null;
  readonly outageAfterMs: number;
  private errors = 0;
  private errorsSettled = 0;
  private jumps = 0;
  private jumpsReported = 0;

  constructor(private readonly timing: CoordinationTiming) {
    this.outageAfterMs = outageAfterMs(timing);
  }

  get hasConnectionErrorSincePass(): boolean {
    return this.errors !== this.errorsSettled;
  }

  beginPass(): PassTicket {
    return {
      errorsSeen: this.errors,
      jumpsSeen: this.jumps,
      clockJumped: this.jumps !== this.jumpsReported,
    };
  }

  recordPass(ticket: PassTicket, pass: Pick<LoopPass, 'redisNowMs' | 'quiet'>): void {
    this.lastPassMs = pass.redisNowMs;
    this.quiet = pass.quiet;
    this.errorsSettled = Math.max(this.errorsSettled, ticket.errorsSeen);
    if (ticket.clockJumped) this.jumpsReported = Math.max(this.jumpsReported, ticket.jumpsSeen);
  }

  /** Redis could not be asked, or a connection to it was lost: nothing is ended or granted until the next pass. */
  recordConnectionError(): void {
    this.errors += 1;
  }

  /** Quiet from now on for one lease; other coordinators hear of it by the next pass. */
  recordClockJump(jump: { readonly causedAtMs: EpochMillis; readonly redisNowMs: EpochMillis }): void {
    this.jumps += 1;
    const untilMs = (jump.redisNowMs + this.timing.memberLeaseTtlMs) as EpochMillis;
    this.localQuiet = { causedAtMs: jump.causedAtMs, untilMs };
  }
}
