import type { AssignmentEpoch, FencingToken, GroupEpoch, MetadataVersion } from '../epochs';
import { memberShards } from '../group/derived-state';
import type { MemberShards } from '../group/derived-state';
import type { GroupMetadata } from '../group/group-metadata';
import type { ShardIndex } from '../ids';
import type { HeartbeatRequest } from '../membership/heartbeat-request';
import { isLive } from '../membership/member';
import type { GroupState } from './decision';
import type { HeartbeatRefusal } from './refusals';

export type HeartbeatStatus =
  | 'OK'
  | 'SYNC_METADATA'
  | 'REVOKE_PENDING'
  | 'UNKNOWN_MEMBER_ID'
  | 'FENCED_MEMBER_EPOCH'
  | 'UNSUPPORTED_PROTOCOL';

export interface AssignedShard {
  readonly shard: ShardIndex;
  readonly token: FencingToken;
}

/** What a member is told: a repeatable view of what is recorded, never a one-time command. */
export interface HeartbeatView {
  readonly kind: 'ANSWER';
  readonly status: HeartbeatStatus;
  /** The tenure's epoch; -1 after a leave; the request's own when it was refused. */
  readonly memberEpoch: number;
  readonly groupEpoch: GroupEpoch;
  readonly assignmentEpoch: AssignmentEpoch;
  readonly metadataVersion: MetadataVersion;
  readonly assigned: readonly AssignedShard[];
  readonly pending: readonly ShardIndex[];
  readonly revoking: readonly ShardIndex[];
}

export type HeartbeatReply = HeartbeatView | ({ readonly kind: 'REFUSED' } & HeartbeatRefusal);

const NOTHING: MemberShards = { assigned: [], pending: [], revoking: [] };

/** The view of a tenure, from what is recorded now: also what a long poll looks at again when the group changed. */
export function viewOfTenure(
  { metadata }: GroupState,
  request: HeartbeatRequest,
  memberEpoch: number,
): HeartbeatReply {
  const { memberId } = request;
  if (metadata === null) return refusal({ code: 'GROUP_NOT_FOUND' });
  const member = metadata.members.get(memberId);
  if (member === undefined) return statusOnly(metadata, 'UNKNOWN_MEMBER_ID', memberEpoch);
  if (member.memberEpoch !== memberEpoch || !isLive(member))
    return statusOnly(metadata, 'FENCED_MEMBER_EPOCH', memberEpoch);
  const { correction } = metadata;
  if (correction === null) return answer(metadata, 'OK', memberEpoch, memberShards(metadata, memberId));
  const status = correction.synced.has(memberId) ? 'REVOKE_PENDING' : 'SYNC_METADATA';
  return answer(metadata, status, memberEpoch, shardsInRound(metadata, request));
}

/**
 * What a member may keep in a correction round: what it holds and should have. Not what another may be reading, unless this
 * one reads it; and nothing after a join, whose tenure reads nothing yet.
 */
function shardsInRound(metadata: GroupMetadata, request: HeartbeatRequest): MemberShards {
  const { memberId, memberEpoch, owned } = request;
  const { assigned, pending, revoking } = memberShards(metadata, memberId);
  const mayKeep = (index: ShardIndex): boolean =>
    memberEpoch !== 0 && (metadata.shards[index]?.conflicts.length === 0 || owned?.has(index) === true);
  const withheld = assigned.filter((index) => !mayKeep(index));
  return {
    assigned: assigned.filter(mayKeep),
    pending: [...pending, ...withheld].sort((a, b) => a - b),
    revoking,
  };
}

/** The view after a leave: nothing is assigned, what is still held is to be drained. */
export function viewOfLeave(
  { metadata }: GroupState,
  { memberId, memberEpoch }: HeartbeatRequest,
): HeartbeatReply {
  if (metadata === null) return refusal({ code: 'GROUP_NOT_FOUND' });
  const member = metadata.members.get(memberId);
  const shards = member?.state === 'LEAVING' ? memberShards(metadata, memberId) : NOTHING;
  return answer(metadata, 'OK', memberEpoch, shards);
}

/** Comes before the group is looked for: without one its numbers are 0. */
export function unsupportedProtocol({ metadata }: GroupState, memberEpoch: number): HeartbeatReply {
  return answer(metadata ?? NO_GROUP, 'UNSUPPORTED_PROTOCOL', memberEpoch, NOTHING);
}

function statusOnly(metadata: GroupMetadata, status: HeartbeatStatus, memberEpoch: number): HeartbeatView {
  return answer(metadata, status, memberEpoch, NOTHING);
}

export function refusal(code: HeartbeatRefusal): HeartbeatReply {
  return { kind: 'REFUSED', ...code };
}

/** Whether two views tell a member to do the same. Versions and epochs alone wake no long poll. */
export function tellsTheSame(a: HeartbeatReply, b: HeartbeatReply): boolean {
  if (a.kind !== 'ANSWER' || b.kind !== 'ANSWER') return false;
  return (
    a.status === b.status &&
    sameList(a.pending, b.pending) &&
    sameList(a.revoking, b.revoking) &&
    a.assigned.length === b.assigned.length &&
    a.assigned.every(({ shard, token }, i) => sameGrant(b.assigned[i], shard, token))
  );
}

function sameGrant(grant: AssignedShard | undefined, shard: ShardIndex, token: FencingToken): boolean {
  return grant?.shard === shard && grant.token === token;
}

function sameList(a: readonly ShardIndex[], b: readonly ShardIndex[]): boolean {
  return a.length === b.length && a.every((shard, i) => shard === b[i]);
}

type Numbers = Pick<GroupMetadata, 'groupEpoch' | 'assignmentEpoch' | 'metadataVersion' | 'shards'>;

const NO_GROUP: Numbers = {
  groupEpoch: 0 as GroupEpoch,
  assignmentEpoch: 0 as AssignmentEpoch,
  metadataVersion: 0 as MetadataVersion,
  shards: [],
};

function answer(
  metadata: Numbers,
  status: HeartbeatStatus,
  memberEpoch: number,
  shards: MemberShards,
): HeartbeatView {
  return {
    kind: 'ANSWER',
    status,
    memberEpoch,
    groupEpoch: metadata.groupEpoch,
    assignmentEpoch: metadata.assignmentEpoch,
    metadataVersion: metadata.metadataVersion,
    assigned: shards.assigned.map((shard) => ({ shard, token: tokenOf(metadata, shard) })),
    pending: shards.pending,
    revoking: shards.revoking,
  };
}

function tokenOf(metadata: Numbers, shard: ShardIndex): FencingToken {
  return metadata.shards[shard]?.lastToken ?? (0 as FencingToken);
}
