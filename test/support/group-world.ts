import type {
  DecisionContext,
  GroupCommand,
  GroupState,
  RememberedWrite,
} from '../../src/domain/coordinator/decision';
import type { HeartbeatReply, HeartbeatView } from '../../src/domain/coordinator/heartbeat-reply';
import { onCompleteProvisioning, onCreateGroup } from '../../src/domain/coordinator/on-admin';
import { onHeartbeat } from '../../src/domain/coordinator/on-heartbeat';
import { onTick } from '../../src/domain/coordinator/on-tick';
import type { StoreRevision } from '../../src/domain/epochs';
import { memberShards } from '../../src/domain/group/derived-state';
import type { GroupMetadata } from '../../src/domain/group/group-metadata';
import { findViolations } from '../../src/domain/group/invariants';
import type {
  ConsumerGroup,
  Incarnation,
  InstanceId,
  MemberId,
  ShardIndex,
  StreamPrefix,
  WriteId,
} from '../../src/domain/ids';
import type { HeartbeatRequest, RevokeReport } from '../../src/domain/membership/heartbeat-request';
import type { EpochMillis } from '../../src/domain/time';
import { DEFAULT_TIMING } from '../../src/protocol/timing';

export const PROTOCOL = { min: 1, max: 1 };
export const LEASE_MS = DEFAULT_TIMING.memberLeaseTtlMs;
export const DRAIN_MS = DEFAULT_TIMING.rebalanceTimeoutMs;
const START_MS = 1_800_000_000_000;

export type BeatOptions = Partial<Omit<HeartbeatRequest, 'owned' | 'revoking'>> & {
  readonly owned?: readonly number[] | null;
  /** Shards reported REVOKED with nothing in flight. */
  readonly revoked?: readonly number[];
  /** Shards reported DRAINING with one entry in flight. */
  readonly draining?: readonly number[];
};

/** One group as the critical section would keep it, without a store: applies decisions and checks the invariants after each. */
export class GroupWorld {
  state: GroupState = { metadata: null, leases: new Map() };
  nowMs = START_MS;
  mayEndTenures = true;
  mayGrant = true;
  maxMembers = 2_000;
  /** The Redis that answers now. */
  redisId = 'redis-1';
  remembered: RememberedWrite | null = null;
  private writes = 0;
  /** Of the last decision. */
  lastEffects: readonly { readonly kind: string }[] = [];

  static withShards(shardCount: number): GroupWorld {
    const world = new GroupWorld();
    world.apply(
      onCreateGroup({
        key: { streamPrefix: 'orders' as StreamPrefix, consumerGroup: 'billing' as ConsumerGroup },
        incarnation: 'life-1' as Incarnation,
        shardCount,
        grantsFromMs: null,
      }),
    );
    world.apply(onCompleteProvisioning());
    return world;
  }

  get metadata(): GroupMetadata {
    if (this.state.metadata === null) throw new Error('the group does not exist');
    return this.state.metadata;
  }

  context(): DecisionContext {
    return {
      nowMs: this.nowMs as EpochMillis,
      drawMs: this.nowMs as EpochMillis,
      timing: DEFAULT_TIMING,
      mayEndTenures: this.mayEndTenures,
      mayGrant: this.mayGrant,
      maxMembers: this.maxMembers,
      recordedVersion: this.state.metadata?.metadataVersion ?? null,
      redisId: this.redisId,
      remembered: this.remembered,
    };
  }

  advance(lengthMs: number): this {
    this.nowMs += lengthMs;
    return this;
  }

  apply<Reply>(command: GroupCommand<Reply>): Reply {
    const decision = command.decide(this.state, this.context());
    const leases = new Map(this.state.leases);
    for (const [memberId, deadlineMs] of decision.leaseChanges) {
      if (deadlineMs === null) leases.delete(memberId);
      else leases.set(memberId, deadlineMs);
    }
    this.state = {
      metadata: this.stamp(decision.metadata),
      leases: decision.metadata === null ? new Map() : leases,
    };
    this.lastEffects = decision.effects;
    if (this.state.metadata !== null) {
      const violations = findViolations(this.state.metadata, this.state.leases);
      if (violations.length > 0)
        throw new Error(`invariants broken by ${command.name}: ${violations.join('; ')}`);
    }
    return decision.reply(this.state);
  }

  /** Redis goes back to an earlier state; another process of it, unless told otherwise. */
  rollBack(state: GroupState, redisId = `${this.redisId}'`): void {
    this.state = state;
    this.redisId = redisId;
  }

  /** Time passes with the members' heartbeats going on, so that no lease runs out. */
  pass(lengthMs: number, members: readonly FakeMember[] = []): void {
    const stepMs = LEASE_MS / 3;
    for (let passedMs = 0; passedMs < lengthMs; passedMs += stepMs) {
      this.advance(Math.min(stepMs, lengthMs - passedMs));
      for (const member of members) member.beat();
    }
  }

  tick(): void {
    this.apply(onTick());
  }

  heartbeat(request: HeartbeatRequest): HeartbeatReply {
    return this.apply(onHeartbeat(request, PROTOCOL));
  }

  member(memberId: string): FakeMember {
    return new FakeMember(this, memberId);
  }

  targetOf(memberId: string): number[] {
    return this.metadata.shards.flatMap(({ target }, index) => (target === memberId ? [index] : []));
  }

  heldBy(memberId: string): number[] {
    const { assigned, revoking } = memberShards(this.metadata, memberId as MemberId);
    return [...assigned, ...revoking].sort((a, b) => a - b);
  }

  private stamp(metadata: GroupMetadata | null): GroupMetadata | null {
    if (metadata === null || metadata === this.state.metadata) return metadata;
    return {
      ...metadata,
      storeRevision: (metadata.storeRevision + 1) as StoreRevision,
      writeId: `write-${(this.writes += 1)}` as WriteId,
      updatedAtMs: this.nowMs as EpochMillis,
    };
  }
}

/** A client that reports what it was last told, unless told otherwise. */
export class FakeMember {
  epoch = 0;
  version = 0;
  view: HeartbeatView | null = null;
  /** What it reads: an answer of a correction round starts nothing. */
  reading: readonly number[] = [];

  constructor(
    private readonly world: GroupWorld,
    readonly memberId: string,
  ) {}

  join(options: BeatOptions = {}): HeartbeatView {
    return this.send({ memberEpoch: 0, instanceId: `${this.memberId}-1` as InstanceId, ...options });
  }

  /** Reports as owned what it was assigned last. */
  beat(options: BeatOptions = {}): HeartbeatView {
    const busy = new Set([...(options.revoked ?? []), ...(options.draining ?? [])]);
    const owned = this.reading.filter((shard) => !busy.has(shard));
    return this.send({ memberEpoch: this.epoch, owned, ...options });
  }

  leave(options: BeatOptions = {}): HeartbeatView {
    return this.send({ memberEpoch: -1, ...options });
  }

  /** Without applying the answer: as if it was lost. */
  request(options: BeatOptions): HeartbeatRequest {
    const { owned, revoked, draining, ...rest } = options;
    const revoking = new Map<ShardIndex, RevokeReport>();
    for (const shard of revoked ?? []) revoking.set(shard as ShardIndex, { state: 'REVOKED', inFlight: 0 });
    for (const shard of draining ?? []) revoking.set(shard as ShardIndex, { state: 'DRAINING', inFlight: 1 });
    return {
      requestId: 'r-1',
      protocolVersion: 1,
      memberId: this.memberId as MemberId,
      memberName: null,
      memberEpoch: this.epoch,
      metadataVersion: this.version,
      maxObservedVersion: null,
      instanceId: null,
      previousEpoch: null,
      maxConcurrency: 4,
      availableConcurrency: 4,
      owned: owned === undefined || owned === null ? null : new Set(owned as readonly ShardIndex[]),
      revoking:
        revoked === undefined && draining === undefined ? (owned === null ? null : new Map()) : revoking,
      progress: [],
      ...rest,
    };
  }

  reply(options: BeatOptions): HeartbeatReply {
    return this.world.heartbeat(this.request(options));
  }

  private send(options: BeatOptions): HeartbeatView {
    const reply = this.reply(options);
    if (reply.kind !== 'ANSWER') throw new Error(`refused: ${reply.code}`);
    if (reply.status === 'OK' || reply.status === 'SYNC_METADATA' || reply.status === 'REVOKE_PENDING') {
      this.view = reply;
      this.version = reply.metadataVersion;
      if (reply.memberEpoch > 0) this.epoch = reply.memberEpoch;
      const assigned = assignedShards(reply);
      this.reading =
        reply.status === 'OK' ? assigned : this.reading.filter((shard) => assigned.includes(shard));
    }
    return reply;
  }
}

export function assignedShards(view: HeartbeatView): number[] {
  return view.assigned.map(({ shard }) => shard);
}
