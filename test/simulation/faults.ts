import type { SeededRandom } from './random';

/** Faults that befall one message or one call, each with a chance. */
export const MESSAGE_FAULTS = [
  'REQUEST_LOST',
  'REQUEST_DELAYED',
  'REQUEST_DUPLICATED',
  'ANSWER_LOST',
  'ANSWER_DELAYED',
  'NOTICE_LOST',
  'REDIS_CALL_LOST',
  'REDIS_ANSWER_LOST',
  'ENDLESS_HANDLER',
] as const;
/** Faults that befall a process or Redis at some moment. */
export const TIMED_FAULTS = [
  'REDIS_OUTAGE',
  'REDIS_SLOW',
  'REDIS_RESTART',
  'REDIS_ROLLBACK',
  'REDIS_ROLLBACK_UNSEEN',
  'REDIS_CLOCK_FORWARD',
  'REDIS_CLOCK_BACK',
  'METADATA_DELETED',
  'GROUP_DELETED',
  'COORDINATOR_CRASH',
  'COORDINATOR_PAUSE',
  'COORDINATOR_REPLACED',
  'MEMBER_CRASH_SAME_ID',
  'MEMBER_CRASH_OTHER_ID',
  'MEMBER_TWIN',
  'MEMBER_PAUSE_SHORT',
  'MEMBER_PAUSE_LONG',
  'MEMBER_STOPPED',
  'MEMBER_FENCED',
  'MEMBER_JOINS',
  'CAPACITY_CHANGED',
] as const;
/** Not asked for: what came of delays. */
const OBSERVED_FAULTS = ['REQUEST_REORDERED', 'ANSWER_DUPLICATED'] as const;

export type MessageFault = (typeof MESSAGE_FAULTS)[number];
export type TimedFault = (typeof TIMED_FAULTS)[number];
export type FaultKind = MessageFault | TimedFault | (typeof OBSERVED_FAULTS)[number];
export const FAULT_KINDS: readonly FaultKind[] = [...MESSAGE_FAULTS, ...TIMED_FAULTS, ...OBSERVED_FAULTS];

const CHANCE_OF_KIND = 0.35;
/** Outside of the guarantee (docs/protocol.md, Metadata correction): what is read twice after it is no violation. */
const CHANCE_OF_UNSEEN_ROLLBACK = 0.08;
const MESSAGE_CHANCES = [0.01, 0.05, 0.2] as const;
const MEAN_WAITS_MS = [4_000, 10_000, 25_000] as const;
/** A section is several calls to Redis: with more of them lost nothing else would happen. */
const REDIS_CALL_SHARE = 0.2;
/** A handler that never ends is rare even where it occurs: it takes its shard until its member is fenced. */
const ENDLESS_SHARE = 0.2;

/** Which faults a schedule has, how often, and how many there were. A random part of all kinds: swarm testing. */
export class FaultPlan {
  readonly counts = new Map<FaultKind, number>();
  isOn = true;
  private readonly chances = new Map<MessageFault, number>();
  private readonly meanWaitsMs = new Map<TimedFault, number>();

  constructor(
    private readonly random: SeededRandom,
    without: ReadonlySet<FaultKind>,
  ) {
    // Drawn for every kind, so that leaving one out changes as little as possible of the others.
    for (const kind of MESSAGE_FAULTS) {
      const isIn = random.chance(CHANCE_OF_KIND);
      const chance = random.pick(MESSAGE_CHANCES) * shareOf(kind);
      if (isIn && !without.has(kind)) this.chances.set(kind, chance);
    }
    for (const kind of TIMED_FAULTS) {
      const isIn = random.chance(
        kind === 'REDIS_ROLLBACK_UNSEEN' ? CHANCE_OF_UNSEEN_ROLLBACK : CHANCE_OF_KIND,
      );
      const waitMs = random.pick(MEAN_WAITS_MS);
      if (isIn && !without.has(kind)) this.meanWaitsMs.set(kind, waitMs);
    }
  }

  get timed(): Iterable<readonly [TimedFault, number]> {
    return this.meanWaitsMs;
  }

  get kinds(): readonly FaultKind[] {
    return [...this.chances.keys(), ...this.meanWaitsMs.keys()];
  }

  /** Whether this one message is to suffer it; counts it. */
  strikes(kind: MessageFault): boolean {
    const chance = this.chances.get(kind);
    if (chance === undefined || !this.isOn || !this.random.chance(chance)) return false;
    this.count(kind);
    return true;
  }

  count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }
}

function shareOf(kind: MessageFault): number {
  switch (kind) {
    case 'ENDLESS_HANDLER':
      return ENDLESS_SHARE;
    case 'REDIS_CALL_LOST':
    case 'REDIS_ANSWER_LOST':
      return REDIS_CALL_SHARE;
    case 'REQUEST_LOST':
    case 'REQUEST_DELAYED':
    case 'REQUEST_DUPLICATED':
    case 'ANSWER_LOST':
    case 'ANSWER_DELAYED':
    case 'NOTICE_LOST':
      return 1;
  }
}
