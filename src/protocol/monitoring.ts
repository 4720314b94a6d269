import type { GroupView, MemberView } from './group';

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
}

export interface MembersView {
  readonly members: readonly MemberView[];
}
