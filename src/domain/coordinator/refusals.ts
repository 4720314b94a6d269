import type { MetadataVersion } from '../epochs';

/** Expected refusals of heartbeats, with what the caller needs to act. They change nothing. */
export type HeartbeatRefusal =
  | { readonly code: 'GROUP_NOT_FOUND' }
  /** The client has seen a version above the recorded one: Redis lost writes. Until metadata correction exists: ask again later. */
  | {
      readonly code: 'METADATA_REGRESSION';
      readonly recordedVersion: MetadataVersion;
      readonly observedVersion: number;
    }
  | { readonly code: 'JOIN_WITH_OWNED_SHARDS' }
  | { readonly code: 'MEMBER_LIMIT'; readonly maxMembers: number };

/** Expected refusals of admin mutations. They change nothing. */
export type AdminRefusal =
  | { readonly code: 'GROUP_NOT_FOUND' }
  | { readonly code: 'GROUP_ALREADY_EXISTS' }
  | { readonly code: 'MEMBER_NOT_FOUND' }
  | { readonly code: 'LIVE_MEMBERS_PRESENT'; readonly liveMembers: number }
  /** `expectedMetadataVersion` differs from the recorded one. */
  | { readonly code: 'STATE_CONFLICT'; readonly currentVersion: MetadataVersion };
