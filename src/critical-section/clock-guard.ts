import type { EpochMillis, MonotonicMillis } from '../domain/time';
import type { Clock } from './runtime-ports';

/** A larger deviation of the Redis clock from our monotonic clock is a jump, milliseconds (docs/protocol.md, quiet period). */
export const CLOCK_JUMP_TOLERANCE_MS = 1_000;

/** Bounds of (Redis clock - monotonic clock), milliseconds. */
export interface OffsetBounds {
  readonly lowMs: number;
  readonly highMs: number;
}

/** A reading of the Redis clock, taken at some moment between the sending of a call and the receipt of its answer. */
export interface ClockReading {
  readonly sentMs: MonotonicMillis;
  readonly receivedMs: MonotonicMillis;
  readonly redisNowMs: EpochMillis;
}

/**
 * What a reading adds to what is known of the offset. Bounds that overlap are intersected, so that a slow call cannot hide a
 * jump; bounds that differ by up to the tolerance are drift, and replaced.
 */
export function narrowOffset(
  known: OffsetBounds | null,
  reading: ClockReading,
): { readonly bounds: OffsetBounds; readonly hasJumped: boolean } {
  const seen: OffsetBounds = {
    lowMs: reading.redisNowMs - reading.receivedMs,
    highMs: reading.redisNowMs - reading.sentMs,
  };
  if (known === null) return { bounds: seen, hasJumped: false };
  const gapMs = Math.max(seen.lowMs - known.highMs, known.lowMs - seen.highMs);
  if (gapMs > 0) return { bounds: seen, hasJumped: gapMs > CLOCK_JUMP_TOLERANCE_MS };
  return {
    bounds: { lowMs: Math.max(seen.lowMs, known.lowMs), highMs: Math.min(seen.highMs, known.highMs) },
    hasJumped: false,
  };
}

/** Estimates the Redis clock between calls, and notices when it jumps. */
export class ClockGuard {
  private bounds: OffsetBounds | null = null;

  constructor(
    private readonly clock: Clock,
    /** Told the larger of what Redis says now and what it was expected to say, and what it says. */
    private readonly onJump: (jump: {
      readonly causedAtMs: EpochMillis;
      readonly redisNowMs: EpochMillis;
    }) => void,
  ) {}

  observe(reading: ClockReading): void {
    const before = this.bounds;
    const { bounds, hasJumped } = narrowOffset(before, reading);
    this.bounds = bounds;
    if (!hasJumped || before === null) return;
    const expectedMs = Math.ceil(reading.receivedMs + before.highMs);
    this.onJump({
      causedAtMs: Math.max(reading.redisNowMs, expectedMs) as EpochMillis,
      redisNowMs: reading.redisNowMs,
    });
  }

  /** The Redis clock now, never ahead of it unless it was set back unseen; null before the first reading. */
  estimateMs(): EpochMillis | null {
    if (this.bounds === null) return null;
    return Math.floor(this.clock.monotonicMs() + this.bounds.lowMs) as EpochMillis;
  }
}
