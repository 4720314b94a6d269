import type { ErrorCode } from './errors';
import type { CorrectionView, GroupStateName, GroupView, MemberStateName, MemberView } from './group';
import type { ShardId } from './heartbeat';

/** Wire types of what is only read: health, versions and lists (docs/protocol.md). */
export type HealthStatusName = 'UP' | 'DEGRADED' | 'DOWN';

export interface HealthView {
  readonly status: HealthStatusName;
  readonly coordinatorId: string;
  /** State of the connection to Redis; additive fields are for people. */
  readonly redis: unknown;
  /** State of the event loop; additive fields are for people. */
  readonly loop: unknown;
}

export interface CompatibilityView {
  readonly currentCoordinationVersion: number;
  readonly supportedCoordinationVersions: { readonly min: number; readonly max: number };
  readonly coordinationVersions: readonly unknown[];
}

export interface GroupsPage {
  readonly groups: readonly GroupView[];
  /** Pass it as `cursor` to get the next page; absent or null on the last. */
  readonly nextCursor?: string | null;
  /** Additive: groups whose stored value cannot be read: they need a person. */
  readonly unreadable?: readonly UnreadableGroup[];
}

export interface UnreadableGroup {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  /** METADATA_CORRUPT or METADATA_SCHEMA_UNSUPPORTED. */
  readonly errorCode: ErrorCode;
  readonly message: string;
}

export interface MembersView {
  readonly members: readonly MemberView[];
}

/** Why a shard is not simply being read by whom it should (docs/monitoring.md). */
export const WAIT_REASONS = [
  'WAITING_FOR_REVOKE',
  'WAITING_FOR_LEASE',
  'QUIET_PERIOD',
  'CONFLICT',
  'PROVISIONING',
  'NO_ELIGIBLE_MEMBER',
  'STALLED',
  'DRAIN_ONLY',
] as const;
export type WaitReasonName = (typeof WAIT_REASONS)[number];

/** All times: Redis clock, ms. */
export interface ExplainView {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  readonly state: GroupStateName;
  readonly metadataVersion: number;
  readonly shardCount: number;
  readonly provisioning: 'PENDING' | 'COMPLETE';
  /** When Redis was read. */
  readonly observedAt: number;
  readonly correction: CorrectionOutlookView | null;
  /** null: the coordinator that answers may end tenures and grant in this group. */
  readonly quietPeriod: QuietPeriodView | null;
  readonly shards: readonly ShardExplanationView[];
  readonly members: readonly MemberExplanationView[];
}

export interface CorrectionOutlookView extends CorrectionView {
  /** The round does not end before. */
  readonly earliestEndAt: number;
  /** When members that keep the round open are fenced. */
  readonly fenceAt: number;
}

export interface QuietPeriodView {
  /** null, both: until the event loop of this coordinator has passed again. */
  readonly since: number | null;
  readonly until: number | null;
  readonly mayGrant: boolean;
}

export interface ShardExplanationView extends ShardId {
  /** Who may be reading it. */
  readonly holder: string | null;
  /** Who should read it and does not hold it. */
  readonly waiting: string | null;
  /** null: nothing is wrong with it. */
  readonly reason: WaitReasonName | null;
  readonly since: number | null;
  readonly until: number | null;
  /** Members on whom that depends. */
  readonly waitsFor: readonly string[];
  /** Entries that were never delivered; null: Redis cannot tell. */
  readonly lag: number | null;
  /** Entries delivered and not acked; null: Redis cannot tell. */
  readonly pendingCount: number | null;
}

export interface MemberExplanationView {
  readonly memberId: string;
  readonly state: MemberStateName;
  /** Of the state. */
  readonly since: number;
  readonly leaseRemainingMs: number | null;
  readonly hasTold: boolean | null;
  readonly pendingShards: readonly ShardId[];
  readonly revokingShards: readonly ShardId[];
  /** Why it does not hold what is pending. */
  readonly reasons: readonly WaitReasonName[];
  readonly waitsFor: readonly string[];
  /** When the last of its waits is over; null: it waits for nothing, or that is not known. */
  readonly until: number | null;
}
