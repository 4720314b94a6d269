import type { RuntimeConsumerCapacity, ShardId, ShardProgress } from './heartbeat';

/** Wire types of group administration, routing and monitoring (docs/protocol.md). */
export type GroupStateName = 'EMPTY' | 'ASSIGNING' | 'RECONCILING' | 'STABLE';
export type MemberStateName = 'STARTING' | 'ACTIVE' | 'LEAVING' | 'EXPIRED' | 'FENCED';

export interface GroupView {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  readonly state: GroupStateName;
  readonly groupEpoch: number;
  readonly assignmentEpoch: number;
  readonly metadataVersion: number;
  readonly shardCount: number;
  readonly activeMigration: null;
  /** Shards per member. */
  readonly targetAssignmentSummary: Readonly<Record<string, number>>;
  readonly currentAssignmentSummary: Readonly<Record<string, number>>;
  /** Additive: the correction round under way; null when there is none. */
  readonly correction?: CorrectionView | null;
}

export const ROUND_CAUSES = ['UNKNOWN_VERSION', 'REDIS_ID', 'REVISION', 'RESTORE'] as const;
export type RoundCauseName = (typeof ROUND_CAUSES)[number];

/** Redis lost writes, or may have: members are asked what they read, and nothing is granted (docs/protocol.md). Times: Redis clock, ms. */
export interface CorrectionView {
  readonly cause: RoundCauseName;
  readonly roundVersion: number;
  readonly startedAt: number;
  /** The version that betrayed the loss; null for other causes. */
  readonly observedVersion: number | null;
  /** Live members that have not told. */
  readonly pendingMembers: readonly string[];
}

export interface CreateBody {
  readonly initialShardCount?: number | null;
  readonly requestedBy: string;
  readonly reason?: string | null;
}

export interface CreateStreamBody extends CreateBody {
  readonly consumerGroup?: string | null;
}

export interface CreatedStream {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  readonly shardCount: number;
  readonly metadataVersion: number;
}

export interface DeleteGroupBody {
  readonly requestedBy: string;
  readonly reason: string;
  /** Delete though members are live; they are told 404 and stop at the end of their lease at the latest. */
  readonly force?: boolean | null;
  /** Also delete the stream keys of every shard, with all entries. */
  readonly purgeStreams?: boolean | null;
  readonly expectedMetadataVersion?: number | null;
}

/** Asked of a coordinator that lost its index, or after groups were put back into Redis by hand. */
export interface RepairIndexBody {
  readonly requestedBy: string;
  readonly reason: string;
}

export interface RepairedIndex {
  readonly added: number;
}

/** An exported group. Opaque to clients: what was exported is what is restored. */
export type ExportedGroup = Readonly<Record<string, unknown>>;

export interface RestoreGroupBody extends RepairIndexBody {
  readonly document: ExportedGroup;
}

export interface RoutedShard {
  readonly shardIndex: number;
  readonly streamKey: string;
  readonly redisSlot: number;
}

export interface ProducerRouting {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  readonly metadataVersion: number;
  readonly shardCount: number;
  /** E.g. `orders:{shardIndex}`. */
  readonly streamKeyPattern: string;
  readonly shards: readonly RoutedShard[];
  readonly assignmentEpoch?: number;
  readonly leaseMs?: number;
  readonly refreshMs?: number;
  /** The coordinator knows that this version is below what the client has seen: take it all the same. */
  readonly regressed?: boolean;
}

export interface MemberView {
  readonly memberId: string;
  readonly memberName: string | null;
  readonly state: MemberStateName;
  readonly memberEpoch: number;
  readonly metadataVersion: number;
  readonly currentAssignment: readonly ShardId[];
  readonly revoking: readonly ShardId[];
  readonly leaseRemainingMs: number | null;
  readonly lastHeartbeatAt: number | null;
  readonly runtimeConsumerCapacity: RuntimeConsumerCapacity;
  readonly shardProgress: readonly ShardProgress[];
  /** Additive: whether it has told what it reads in the correction round under way; null: there is none, or it is not asked. */
  readonly hasTold?: boolean | null;
}

export interface AssignmentsView {
  readonly targetAssignment: Readonly<Record<string, readonly ShardId[]>>;
  readonly currentAssignments: Readonly<Record<string, readonly ShardId[]>>;
  readonly revokeProgress: Readonly<Record<string, readonly ShardId[]>>;
  readonly invariantViolations: readonly string[];
}

export interface FenceMemberBody {
  readonly requestedBy: string;
  readonly reason: string;
  readonly expectedMetadataVersion?: number | null;
}
