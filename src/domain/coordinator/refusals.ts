import type { MetadataVersion } from '../epochs';
import type { EpochMillis } from '../time';

/** Expected refusals of heartbeats, with what the caller needs to act. They change nothing. */
export type HeartbeatRefusal =
  | { readonly code: 'GROUP_NOT_FOUND' }
  | { readonly code: 'JOIN_WITH_OWNED_SHARDS' }
  | { readonly code: 'MEMBER_LIMIT'; readonly maxMembers: number };

/** Expected refusals of admin mutations. They change nothing. */
export type AdminRefusal =
  | { readonly code: 'GROUP_NOT_FOUND' }
  | { readonly code: 'GROUP_ALREADY_EXISTS' }
  | { readonly code: 'MEMBER_NOT_FOUND' }
  | { readonly code: 'LIVE_MEMBERS_PRESENT'; readonly liveMembers: number }
  /** Until the round ends, who reads what is not known: nothing else is changed meanwhile. */
  | { readonly code: 'METADATA_CORRECTION_ACTIVE'; readonly startedAtMs: EpochMillis }
  /** `expectedMetadataVersion` differs from the recorded one. */
  | { readonly code: 'STATE_CONFLICT'; readonly currentVersion: MetadataVersion };
