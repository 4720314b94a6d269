import type { DecisionContext, GroupCommand, GroupState } from '../../src/domain/coordinator/decision';
import { onCompleteProvisioning, onCreateGroup } from '../../src/domain/coordinator/on-admin';
import { onHeartbeat } from '../../src/domain/coordinator/on-heartbeat';
import { onTick } from '../../src/domain/coordinator/on-tick';
import { groupState } from '../../src/domain/group/derived-state';
import { findViolations } from '../../src/domain/group/invariants';
import type { ConsumerGroup, Incarnation, MemberId, StreamPrefix } from '../../src/domain/ids';
import type { CoordinationTiming, EpochMillis } from '../../src/domain/time';
import { CREATION, FRESH } from './labels';
import { toAnswer, toHeartbeat } from './messages';
import type { Answer, Request } from './messages';
import { NOW } from './model-time';

export interface Grant {
  readonly shard: number;
  readonly memberId: MemberId;
  readonly epoch: number;
}

/** What a request or a look of the event loop brings about. */
export interface Outcome<Reply> {
  readonly state: GroupState;
  readonly reply: Reply;
  /** Shards that somebody holds who did not hold them before. */
  readonly grants: readonly Grant[];
  /** What must not be in this group; null: nothing. */
  readonly fault: string | null;
}

const NO_LIMIT = 100;
const PROTOCOL = { min: 1, max: 1 };

/** The pure core, run as the critical section runs it: on the recorded group, which its decision replaces. */
export class Coordinator {
  constructor(
    private readonly timing: CoordinationTiming,
    private readonly shardCount: number,
  ) {}

  /** A group with its streams and nobody in it. */
  create(): GroupState {
    const key = { streamPrefix: 's' as StreamPrefix, consumerGroup: 'g' as ConsumerGroup };
    const command = onCreateGroup({
      key,
      incarnation: 'i' as Incarnation,
      shardCount: this.shardCount,
      grantsFromMs: null,
    });
    const nothing: GroupState = { metadata: null, leases: new Map() };
    const drawMs = CREATION as EpochMillis;
    const created = apply(nothing, command, { ...this.context(nothing, 'redis-0'), drawMs }).state;
    const context = { ...this.context(created, 'redis-0'), drawMs };
    return apply(created, onCompleteProvisioning(), context).state;
  }

  heartbeat(state: GroupState, request: Request, memberId: MemberId, redisId: string): Outcome<Answer> {
    const outcome = this.run(state, onHeartbeat(toHeartbeat(request, memberId), PROTOCOL), redisId);
    return { ...outcome, reply: toAnswer(request, outcome.reply) };
  }

  tick(state: GroupState, redisId: string): Outcome<unknown> {
    return this.run(state, onTick(), redisId);
  }

  private run<Reply>(before: GroupState, command: GroupCommand<Reply>, redisId: string): Outcome<Reply> {
    const { state, reply } = apply(before, command, this.context(before, redisId));
    const fault =
      state.metadata === null ? 'the group is gone' : findViolations(state.metadata, state.leases)[0];
    return { state, reply, grants: grantsBetween(before, state), fault: fault ?? null };
  }

  private context({ metadata }: GroupState, redisId: string): DecisionContext {
    return {
      nowMs: NOW as EpochMillis,
      drawMs: FRESH as EpochMillis,
      timing: this.timing,
      mayEndTenures: true,
      mayGrant: true,
      maxMembers: NO_LIMIT,
      recordedVersion: metadata?.metadataVersion ?? null,
      redisId,
      remembered: null,
    };
  }
}

function apply<Reply>(
  before: GroupState,
  command: GroupCommand<Reply>,
  context: DecisionContext,
): { readonly state: GroupState; readonly reply: Reply } {
  const decision = command.decide(before, context);
  const leases = new Map(before.leases);
  for (const [memberId, deadlineMs] of decision.leaseChanges) {
    if (deadlineMs === null) leases.delete(memberId);
    else leases.set(memberId, deadlineMs);
  }
  const state: GroupState = { metadata: decision.metadata, leases };
  return { state, reply: decision.reply(state) };
}

function grantsBetween(before: GroupState, after: GroupState): Grant[] {
  return [...holdersOf(after)].flatMap(([shard, grant]) => {
    const former = holdersOf(before).get(shard);
    return former?.memberId === grant.memberId && former.epoch === grant.epoch ? [] : [grant];
  });
}

function holdersOf({ metadata }: GroupState): Map<number, Grant> {
  const holders = new Map<number, Grant>();
  metadata?.shards.forEach(({ occupancy }, shard) => {
    if (occupancy.kind !== 'HELD') return;
    const { memberId } = occupancy;
    holders.set(shard, { shard, memberId, epoch: metadata.members.get(memberId)?.memberEpoch ?? 0 });
  });
  return holders;
}

/** Whether the group has come to rest: nothing is corrected, drained, blocked or still to be granted. */
export function isAtRest({ metadata }: GroupState): boolean {
  if (metadata === null || metadata.correction !== null) return false;
  const state = groupState(metadata);
  return state === 'STABLE' || state === 'EMPTY';
}
