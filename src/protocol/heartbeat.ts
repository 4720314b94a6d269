/** Wire types of the heartbeat. Names and values are the contract with clients in other languages (docs/protocol.md). */
export interface ShardId {
  readonly shardIndex: number;
}

export const REVOKE_STATES = ['REVOKING', 'DRAINING', 'REVOKED'] as const;
export type RevokeState = (typeof REVOKE_STATES)[number];

export interface RevokingShard {
  readonly shard: ShardId;
  readonly state: RevokeState;
  /** Entries whose handler still runs. A shard is released only by REVOKED with 0. */
  readonly inFlight: number;
  readonly ackedAt?: number | string | null;
}

export interface ShardProgress {
  readonly shard: ShardId;
  readonly streamKey: string;
  readonly lastDeliveredId?: string | null;
  readonly lastAckedId?: string | null;
  readonly pendingCount: number;
  readonly updatedAt?: number | string | null;
}

export interface RuntimeConsumerCapacity {
  /** 0: this member is not eligible for shards. */
  readonly runtimeMaxConcurrency: number;
  readonly availableConcurrency: number;
}

export const JOIN_EPOCH = 0;
export const LEAVE_EPOCH = -1;

export interface HeartbeatBody {
  readonly protocolVersion: number;
  readonly requestId: string;
  readonly memberId: string;
  readonly memberName?: string | null;
  /** 0 joins, -1 leaves, above 0: the epoch of the running tenure. */
  readonly memberEpoch: number;
  /** The version of the view that this report is about. */
  readonly metadataVersion: number;
  readonly runtimeConsumerCapacity: RuntimeConsumerCapacity;
  /** Absent or null is no news; an empty list says that nothing is owned. */
  readonly ownedShards?: readonly ShardId[] | null;
  readonly revokingShards?: readonly RevokingShard[] | null;
  readonly shardProgress?: readonly ShardProgress[] | null;
  // Additive fields: a client that sends only those above must work.
  readonly instanceId?: string | null;
  readonly previousEpoch?: number | null;
  /** Highest metadataVersion that this process ever saw. */
  readonly maxObservedVersion?: number | null;
  /** Long poll: hold the answer until this member's view changes, at most this long (clamped to the heartbeat interval). */
  readonly waitMs?: number | null;
}

export const HEARTBEAT_STATUSES = [
  'OK',
  'RETRY',
  'SYNC_METADATA',
  'REVOKE_PENDING',
  'UNKNOWN_MEMBER_ID',
  'FENCED_MEMBER_EPOCH',
  'UNSUPPORTED_PROTOCOL',
  'INVALID_REQUEST',
] as const;
export type HeartbeatStatus = (typeof HEARTBEAT_STATUSES)[number];

export interface ShardToken {
  readonly shardIndex: number;
  readonly token: number;
}

export interface HeartbeatAssignment {
  readonly assignedShards: readonly ShardId[];
  readonly pendingShards: readonly ShardId[];
  readonly metadataVersion: number;
  /** Additive: held, to be drained. */
  readonly revokingShards?: readonly ShardId[];
  /** Additive: fencing tokens of the assigned shards. */
  readonly fencingTokens?: readonly ShardToken[];
}

export interface HeartbeatAnswer {
  /** The requestId of the request. */
  readonly responseTo: string;
  readonly status: HeartbeatStatus;
  readonly memberId: string;
  readonly memberEpoch: number;
  readonly heartbeatIntervalMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly groupEpoch: number;
  readonly assignmentEpoch: number;
  readonly metadataVersion: number;
  readonly assignment: HeartbeatAssignment;
  /** Additive: the coordinator's lease. A client counts its own from the moment it sent the request. */
  readonly leaseTtlMs?: number;
}
