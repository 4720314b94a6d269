import type { HeartbeatReply, HeartbeatStatus } from '../../src/domain/coordinator/heartbeat-reply';
import type { MemberId, ShardIndex } from '../../src/domain/ids';
import type { HeartbeatRequest, RevokeReport } from '../../src/domain/membership/heartbeat-request';
import { bitsOf, epochLabel, instanceId, maskOf, NONE } from './labels';

export type Form = 'JOIN' | 'BEAT' | 'LEAVE';

/** A heartbeat under way. Sets of shards are bit masks. */
export interface Request {
  readonly kind: 'REQUEST';
  readonly form: Form;
  /** Position of the member id. */
  readonly member: number;
  /** Base clients send only the base fields. */
  readonly isBase: boolean;
  readonly epoch: number;
  readonly previousEpoch: number;
  readonly instance: number;
  readonly version: number;
  /** Without lists: no news of what is read. */
  readonly isBare: boolean;
  readonly owned: number;
  readonly draining: number;
  readonly revoked: number;
}

/** What comes back to the client that waits for it. */
export interface Answer {
  readonly kind: 'ANSWER';
  readonly form: Form;
  /** RETRY stands for everything that renews and starts nothing. */
  readonly status: HeartbeatStatus | 'RETRY';
  /** Of the tenure that a join has begun; a heartbeat's is the one that it was sent with. */
  readonly epoch: number;
  readonly version: number;
  readonly assigned: number;
  readonly revoking: number;
  /** Shards that the answered request reported as REVOKED. */
  readonly reported: number;
}

export type Message = Request | Answer;

const EPOCH_OF_LEAVE = -1;

export function toHeartbeat(request: Request, memberId: MemberId): HeartbeatRequest {
  const isJoin = request.form === 'JOIN';
  const revoking = new Map<ShardIndex, RevokeReport>();
  for (const shard of bitsOf(request.draining))
    revoking.set(shard as ShardIndex, { state: 'DRAINING', inFlight: 1 });
  for (const shard of bitsOf(request.revoked))
    revoking.set(shard as ShardIndex, { state: 'REVOKED', inFlight: 0 });
  return {
    requestId: 'request',
    protocolVersion: 1,
    memberId,
    memberName: null,
    memberEpoch: request.form === 'LEAVE' ? EPOCH_OF_LEAVE : isJoin ? 0 : request.epoch,
    metadataVersion: request.version,
    maxObservedVersion: request.isBase ? null : request.version,
    instanceId: request.isBase ? null : instanceId(request.instance),
    previousEpoch: request.isBase || request.previousEpoch === NONE ? null : request.previousEpoch,
    maxConcurrency: 1,
    availableConcurrency: 1,
    owned: request.isBare ? null : new Set(bitsOf(request.owned) as ShardIndex[]),
    revoking: request.isBare ? null : revoking,
    progress: [],
  };
}

export function toAnswer(request: Request, reply: HeartbeatReply): Answer {
  const { form, revoked: reported } = request;
  const status = reply.kind === 'REFUSED' ? 'RETRY' : reply.status;
  if (reply.kind === 'REFUSED' || !isFollowed(status)) {
    // Only the status counts.
    return {
      kind: 'ANSWER',
      form: 'BEAT',
      status,
      epoch: NONE,
      version: NONE,
      assigned: 0,
      revoking: 0,
      reported: 0,
    };
  }
  const isLeave = form === 'LEAVE';
  return {
    kind: 'ANSWER',
    form,
    status,
    epoch: form === 'JOIN' ? epochLabel(reply.memberEpoch, request.member) : NONE,
    version: reply.metadataVersion,
    assigned: isLeave ? 0 : maskOf(reply.assigned.map(({ shard }) => shard)),
    revoking: isLeave ? 0 : maskOf(reply.revoking),
    reported,
  };
}

export function isFollowed(status: Answer['status']): boolean {
  return status === 'OK' || status === 'SYNC_METADATA' || status === 'REVOKE_PENDING';
}

export function keyOfMessage(message: Message): string {
  return message.kind === 'REQUEST'
    ? `${message.form}|${message.member}|${message.isBase}|${message.epoch}|${message.previousEpoch}|${message.instance}|${message.version}|${message.isBare}|${message.owned}|${message.draining}|${message.revoked}`
    : `${message.form}|${message.status}|${message.epoch}|${message.version}|${message.assigned}|${message.revoking}|${message.reported}`;
}
