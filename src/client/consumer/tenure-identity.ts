import type { MonotonicMillis } from '../../domain/time';
import type { HighestVersion } from '../versions/highest-version';

/**
 * The numbers by which the coordinator tells this tenure from others, and this process' view from older ones.
 * instanceId        of the tenure, or of the one that is being asked for: a repeated join carries the same
 * memberEpoch       of the running tenure, 0 while there is none
 * previousEpoch     of the tenure before
 * viewVersion       metadataVersion of the view that is being followed
 * maxObservedVersion  the highest metadataVersion that this process ever saw, kept over tenures and shared by its members
 */
export class TenureIdentity {
  memberEpoch = 0;
  previousEpoch = 0;
  viewVersion = 0;
  /** When a join with the present instanceId was last sent; null: never, so that the coordinator cannot know it. */
  joinSentAtMs: MonotonicMillis | null = null;
  instanceId: string;

  constructor(
    private readonly newId: () => string,
    private readonly highestVersion: HighestVersion,
  ) {
    this.instanceId = newId();
  }

  get maxObservedVersion(): number {
    return this.highestVersion.value;
  }

  observe(metadataVersion: number): void {
    this.highestVersion.observe(metadataVersion);
  }

  /** The tenure is over; the next one has another instanceId. */
  end(): void {
    if (this.memberEpoch > 0) this.previousEpoch = this.memberEpoch;
    this.memberEpoch = 0;
    this.instanceId = this.newId();
    this.joinSentAtMs = null;
  }
}
