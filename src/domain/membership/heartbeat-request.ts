import type { InstanceId, MemberId, ShardIndex } from '../ids';

/** What a member says of a shard that it gives up. Only REVOKED with nothing in flight releases it. */
export interface RevokeReport {
  readonly state: 'REVOKING' | 'DRAINING' | 'REVOKED';
  readonly inFlight: number;
}

/** A heartbeat, validated: numbers are safe integers, no shard is owned and revoking at once, repeats are merged. */
export interface HeartbeatRequest {
  readonly requestId: string;
  readonly protocolVersion: number;
  readonly memberId: MemberId;
  readonly memberName: string | null;
  /** 0 joins, -1 leaves, above 0: the epoch of the running tenure. */
  readonly memberEpoch: number;
  readonly metadataVersion: number;
  readonly maxObservedVersion: number | null;
  readonly instanceId: InstanceId | null;
  readonly previousEpoch: number | null;
  readonly maxConcurrency: number;
  readonly availableConcurrency: number;
  /** null is no news; an empty set says that nothing is owned. */
  readonly owned: ReadonlySet<ShardIndex> | null;
  readonly revoking: ReadonlyMap<ShardIndex, RevokeReport> | null;
  /** Opaque to the domain: stored beside the aggregate for monitoring. */
  readonly progress: readonly unknown[];
}
