import { Inject, Injectable } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { GroupWatch } from '../critical-section/group-watch';
import type { GroupState } from '../domain/coordinator/decision';
import {
  type HeartbeatReply,
  type HeartbeatView,
  tellsTheSame,
  viewOfTenure,
} from '../domain/coordinator/heartbeat-reply';
import type { GroupKey } from '../domain/ids';
import type { HeartbeatRequest } from '../domain/membership/heartbeat-request';
import { ApiError, invalidRequest } from '../http/api-error';
import { groupNotFound } from '../http/group-not-found';
import { shardIdsOf } from '../http/group.view';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import type { HeartbeatAnswer, HeartbeatStatus } from '../protocol';

/** What makes a heartbeat wait, and who still wants the answer. */
export interface LongPoll {
  readonly waitMs: number;
  /** Aborted when the client is gone. Asked for only when there is something to wait for. */
  readonly signal: () => AbortSignal;
}

/** Turns what the critical section decided into the answer of a heartbeat, after a long poll where one was asked for. */
@Injectable()
export class HeartbeatAnswers {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly watch: GroupWatch,
    private readonly metrics: CoordinatorMetrics,
  ) {}

  async answer(
    key: GroupKey,
    request: HeartbeatRequest,
    reply: HeartbeatReply,
    longPoll: LongPoll,
  ): Promise<HeartbeatAnswer> {
    const view = this.accepted(key, reply);
    if (!mayWait(request, view) || longPoll.waitMs === 0) return this.answerOf(request, view);
    const waitMs = Math.min(longPoll.waitMs, this.options.timing.heartbeatIntervalMs);
    const isChanged = (state: GroupState): boolean =>
      !tellsTheSame(viewOfTenure(state, request, view.memberEpoch), view);
    const changed = await this.watch.waitForChange(key, isChanged, waitMs, longPoll.signal());
    if (changed === null) return this.answerOf(request, view);
    return this.answerOf(request, this.accepted(key, viewOfTenure(changed, request, view.memberEpoch)));
  }

  /** The group moved under every attempt: nothing is said but that the client keeps what it has and asks again. */
  retry(request: HeartbeatRequest): HeartbeatAnswer {
    this.metrics.heartbeatAnswered('RETRY');
    return this.body(request, 'RETRY', {
      memberEpoch: request.memberEpoch,
      groupEpoch: 0,
      assignmentEpoch: 0,
      metadataVersion: request.metadataVersion,
      assigned: [],
      pending: [],
      revoking: [],
    });
  }

  private answerOf(request: HeartbeatRequest, view: HeartbeatView): HeartbeatAnswer {
    this.metrics.heartbeatAnswered(view.status);
    return this.body(request, view.status, view);
  }

  private body(
    request: HeartbeatRequest,
    status: HeartbeatStatus,
    view: Omit<HeartbeatView, 'kind' | 'status' | 'groupEpoch' | 'assignmentEpoch' | 'metadataVersion'> & {
      readonly groupEpoch: number;
      readonly assignmentEpoch: number;
      readonly metadataVersion: number;
    },
  ): HeartbeatAnswer {
    const { heartbeatIntervalMs, rebalanceTimeoutMs, memberLeaseTtlMs } = this.options.timing;
    return {
      responseTo: request.requestId,
      status,
      memberId: request.memberId,
      memberEpoch: view.memberEpoch,
      heartbeatIntervalMs,
      rebalanceTimeoutMs,
      groupEpoch: view.groupEpoch,
      assignmentEpoch: view.assignmentEpoch,
      metadataVersion: view.metadataVersion,
      assignment: {
        assignedShards: view.assigned.map(({ shard }) => ({ shardIndex: shard })),
        pendingShards: shardIdsOf(view.pending),
        metadataVersion: view.metadataVersion,
        revokingShards: shardIdsOf(view.revoking),
        fencingTokens: view.assigned.map(({ shard, token }) => ({ shardIndex: shard, token })),
      },
      leaseTtlMs: memberLeaseTtlMs,
    };
  }

  /** @throws ApiError for a refusal. */
  private accepted(key: GroupKey, reply: HeartbeatReply): HeartbeatView {
    if (reply.kind === 'ANSWER') return reply;
    switch (reply.code) {
      case 'GROUP_NOT_FOUND':
        throw groupNotFound(key);
      case 'JOIN_WITH_OWNED_SHARDS':
        throw invalidRequest([{ field: 'ownedShards', rule: 'must be empty or absent in a join' }]);
      case 'MEMBER_LIMIT':
        throw new ApiError(
          'TOO_MANY_REQUESTS',
          `the group has ${reply.maxMembers} members, as many as COORD_MAX_MEMBERS allows`,
        );
    }
  }
}

/** Only a running tenure that has nothing to learn from its answer waits for one that it can learn from. */
function mayWait(request: HeartbeatRequest, view: HeartbeatView): boolean {
  return (
    view.status === 'OK' &&
    request.memberEpoch > 0 &&
    request.metadataVersion === (view.metadataVersion as number)
  );
}
