import type { MonotonicMillis } from '../../domain/time';
import type { ProducerRouting } from '../../protocol';
import type { RoutingQuery } from '../coordinator-client';
import { HighestVersion } from '../versions/highest-version';

/** What an answer did to the cache. */
export type RoutingAcceptance = 'REPLACED' | 'RENEWED' | 'DROPPED';

export interface RoutingTimes {
  /** Milliseconds that a routing may be used, counted from the sending of the request that brought it. */
  readonly leaseMs: number;
  /** Milliseconds between two refreshes. */
  readonly refreshMs: number;
}

/** A refresh has to get at least two tries into the lease, whatever interval the coordinator names. */
const MAX_REFRESH_SHARE_OF_LEASE = 0.4;

/**
 * The routing that a publisher may use, as a state machine without clock or network. Empty; then leased, until its lease is
 * over; a later answer leases it again. Answers come in through `accept` only: a higher version replaces what is here, the
 * same one renews its lease, a lower one is dropped unless the coordinator says that its history went back (`regressed`).
 * Source: docs/protocol.md, Producers.
 */
export class RoutingCache {
  private routing: ProducerRouting | null = null;
  /** When the request was sent that brought or last renewed the routing. */
  private leasedFromMs: MonotonicMillis | null = null;
  private regressionCount = 0;
  private currentTimes: RoutingTimes;

  /** `highestVersion`: what this process saw of the group, also before there was this cache. */
  constructor(
    defaults: RoutingTimes,
    private readonly highestVersion = new HighestVersion(),
  ) {
    this.currentTimes = defaults;
  }

  get times(): RoutingTimes {
    const { leaseMs, refreshMs } = this.currentTimes;
    return { leaseMs, refreshMs: Math.min(refreshMs, leaseMs * MAX_REFRESH_SHARE_OF_LEASE) };
  }

  /** The routing, as long as its lease holds. The boundary instant counts as over. */
  usableAt(nowMs: MonotonicMillis): ProducerRouting | null {
    const isLeased = this.leasedFromMs !== null && nowMs - this.leasedFromMs < this.currentTimes.leaseMs;
    return isLeased ? this.routing : null;
  }

  /** Milliseconds since the routing was asked for; null when there is none. */
  ageMs(nowMs: MonotonicMillis): number | null {
    return this.leasedFromMs === null ? null : nowMs - this.leasedFromMs;
  }

  /** Milliseconds that the routing may still be used, 0 when it may not; null when there is none. */
  leaseRemainingMs(nowMs: MonotonicMillis): number | null {
    const ageMs = this.ageMs(nowMs);
    return ageMs === null ? null : Math.max(0, this.currentTimes.leaseMs - ageMs);
  }

  /** Routings that were taken although this process had seen a higher version. */
  get regressions(): number {
    return this.regressionCount;
  }

  /** What every refresh tells: the version held and the highest ever seen, which may betray a history that went back. */
  query(): RoutingQuery {
    const maxObservedVersion = this.highestVersion.value;
    return {
      ...(this.routing === null ? {} : { metadataVersion: this.routing.metadataVersion }),
      ...(maxObservedVersion === 0 ? {} : { maxObservedVersion }),
    };
  }

  /** A version that someone else in this process saw. True when the routing here is older. */
  note(metadataVersion: number): boolean {
    this.highestVersion.observe(metadataVersion);
    return this.routing !== null && metadataVersion > this.routing.metadataVersion;
  }

  accept(answer: ProducerRouting, sentAtMs: MonotonicMillis): RoutingAcceptance {
    const held = this.routing?.metadataVersion;
    const isBelowSeen = answer.metadataVersion < this.highestVersion.value;
    this.note(answer.metadataVersion);
    if (held === answer.metadataVersion) {
      this.leasedFromMs = later(this.leasedFromMs, sentAtMs);
      this.takeTimes(answer);
      return 'RENEWED';
    }
    if (held !== undefined && answer.metadataVersion < held && answer.regressed !== true) return 'DROPPED';
    if (isBelowSeen && answer.regressed === true) this.regressionCount += 1;
    this.routing = answer;
    this.leasedFromMs = sentAtMs;
    this.takeTimes(answer);
    return 'REPLACED';
  }

  private takeTimes({ leaseMs, refreshMs }: ProducerRouting): void {
    this.currentTimes = {
      leaseMs: leaseMs ?? this.currentTimes.leaseMs,
      refreshMs: refreshMs ?? this.currentTimes.refreshMs,
    };
  }
}

function later(a: MonotonicMillis | null, b: MonotonicMillis): MonotonicMillis {
  return a === null || b > a ? b : a;
}
