import {
  FREE,
  NO_CONFLICTS,
  RECENT_VERSIONS_LIMIT,
  type Conflict,
  type Drain,
  type GroupMetadata,
  type Occupancy,
  type Shard,
} from '../domain/group/group-metadata';
import type {
  AssignmentEpoch,
  FencingToken,
  GroupEpoch,
  MemberEpoch,
  MetadataVersion,
  StoreRevision,
} from '../domain/epochs';
import {
  INSTANCE_ID_MAX_LENGTH,
  parseConsumerGroup,
  parseMemberId,
  parseStreamPrefix,
  type Incarnation,
  type InstanceId,
  type MemberId,
  type WriteId,
} from '../domain/ids';
import type { Member, MemberState } from '../domain/membership/member';
import type { EpochMillis } from '../domain/time';
import { readHistory, readRound } from './round-reader';
import {
  nullOr,
  readCount,
  readList,
  readObject,
  readOneOf,
  readText,
  UnreadableValueError,
  type StoredObject,
} from './strict-json';

const STORED_TEXT_MAX_LENGTH = 1_000;
const MEMBER_STATES: readonly MemberState[] = ['STARTING', 'ACTIVE', 'LEAVING', 'EXPIRED', 'FENCED'];
const PROVISIONING = ['PENDING', 'COMPLETE'] as const;

const GROUP_FIELDS = [
  'streamPrefix',
  'consumerGroup',
  'incarnation',
  'createdAtMs',
  'updatedAtMs',
  'storeRevision',
  'writeId',
  'metadataVersion',
  'recentVersions',
  'groupEpoch',
  'assignmentEpoch',
  'lastMemberEpoch',
  'provisioning',
  'grantsFromMs',
  'shardCount',
  'shards',
  'members',
];
/** Missing when there is none, and in what builds wrote that did not know them. */
const CORRECTION_FIELDS = ['correction', 'rounds'];
const MEMBER_FIELDS = [
  'memberId',
  'memberName',
  'state',
  'stateChangedAtMs',
  'memberEpoch',
  'instanceId',
  'joinedVersion',
  'maxConcurrency',
];
const OPTIONAL_MEMBER_FIELDS = ['correctedAtMs', 'lostVersion'];
const SHARD_FIELDS = ['target', 'token'];
const OPTIONAL_SHARD_FIELDS = ['holder', 'drain', 'blocked', 'conflicts'];

/**
 * The inverse of `encodeAggregate`, with the Redis identity that lies beside the aggregate. Checks the form, not the sense:
 * `findViolations` does that.
 * @throws UnreadableValueError, or SyntaxError when it is not JSON.
 */
export function decodeAggregate(json: string, redisId: string): GroupMetadata {
  const stored = readObject(JSON.parse(json), 'aggregate', GROUP_FIELDS, CORRECTION_FIELDS);
  const members = readMembers(stored['members']);
  const streamPrefix = parseStreamPrefix(
    readText(stored['streamPrefix'], 'streamPrefix', STORED_TEXT_MAX_LENGTH),
  );
  const consumerGroup = parseConsumerGroup(
    readText(stored['consumerGroup'], 'consumerGroup', STORED_TEXT_MAX_LENGTH),
  );
  if (streamPrefix === null) throw new UnreadableValueError('streamPrefix', 'is not a valid name');
  if (consumerGroup === null) throw new UnreadableValueError('consumerGroup', 'is not a valid name');
  const shards = readList(stored['shards'], 'shards').map((shard, index) => readShard(shard, index, members));
  const shardCount = readCount(stored['shardCount'], 'shardCount');
  if (shards.length < shardCount)
    throw new UnreadableValueError('shards', 'has fewer shards than shardCount');
  const metadataVersion = readCount(stored['metadataVersion'], 'metadataVersion') as MetadataVersion;
  return {
    streamPrefix,
    consumerGroup,
    incarnation: readText(stored['incarnation'], 'incarnation', STORED_TEXT_MAX_LENGTH) as Incarnation,
    createdAtMs: readCount(stored['createdAtMs'], 'createdAtMs') as EpochMillis,
    redisId,
    updatedAtMs: readCount(stored['updatedAtMs'], 'updatedAtMs') as EpochMillis,
    storeRevision: readCount(stored['storeRevision'], 'storeRevision') as StoreRevision,
    writeId: readText(stored['writeId'], 'writeId', STORED_TEXT_MAX_LENGTH) as WriteId,
    metadataVersion,
    recentVersions: readRecentVersions(stored['recentVersions'], metadataVersion),
    groupEpoch: readCount(stored['groupEpoch'], 'groupEpoch') as GroupEpoch,
    assignmentEpoch: readCount(stored['assignmentEpoch'], 'assignmentEpoch') as AssignmentEpoch,
    lastMemberEpoch: readCount(stored['lastMemberEpoch'], 'lastMemberEpoch') as MemberEpoch,
    provisioning: readOneOf(stored['provisioning'], 'provisioning', PROVISIONING),
    grantsFromMs: readCount(stored['grantsFromMs'], 'grantsFromMs') as EpochMillis,
    shardCount,
    shards,
    members,
    correction: readRound(stored['correction']),
    rounds: readHistory(stored['rounds']),
  };
}

function readRecentVersions(value: unknown, metadataVersion: MetadataVersion): readonly MetadataVersion[] {
  const versions = readList(value, 'recentVersions').map(
    (version, index) => readCount(version, `recentVersions[${index}]`) as MetadataVersion,
  );
  const isAscending = versions.every((version, index) => index === 0 || version > (versions[index - 1] ?? 0));
  if (!isAscending || versions.length > RECENT_VERSIONS_LIMIT || versions.at(-1) !== metadataVersion) {
    throw new UnreadableValueError(
      'recentVersions',
      `is not an ascending list of at most ${RECENT_VERSIONS_LIMIT} that ends in metadataVersion`,
    );
  }
  return versions;
}

function readMembers(value: unknown): ReadonlyMap<MemberId, Member> {
  const members = new Map<MemberId, Member>();
  for (const [index, entry] of readList(value, 'members').entries()) {
    const member = readMember(entry, `members[${index}]`);
    if (members.has(member.memberId)) throw new UnreadableValueError(`members[${index}]`, 'is there twice');
    members.set(member.memberId, member);
  }
  return members;
}

function readMember(value: unknown, path: string): Member {
  const stored = readObject(value, path, MEMBER_FIELDS, OPTIONAL_MEMBER_FIELDS);
  const { correctedAtMs, lostVersion } = stored;
  return {
    memberId: readMemberId(stored['memberId'], path),
    memberName: nullOr(stored['memberName'], readMemberName),
    state: readOneOf(stored['state'], path, MEMBER_STATES),
    stateChangedAtMs: readCount(stored['stateChangedAtMs'], path) as EpochMillis,
    memberEpoch: readCount(stored['memberEpoch'], path) as MemberEpoch,
    instanceId: nullOr(
      stored['instanceId'],
      (id) => readText(id, `${path}.instanceId`, INSTANCE_ID_MAX_LENGTH) as InstanceId,
    ),
    joinedVersion: readCount(stored['joinedVersion'], path) as MetadataVersion,
    maxConcurrency: readCount(stored['maxConcurrency'], path),
    correctedAtMs: correctedAtMs === undefined ? null : (readCount(correctedAtMs, path) as EpochMillis),
    lostVersion: lostVersion === undefined ? null : readCount(lostVersion, path),
  };
}

/** Chosen by people: may be empty. */
function readMemberName(value: unknown): string {
  return value === '' ? value : readText(value, 'memberName', STORED_TEXT_MAX_LENGTH);
}

function readMemberId(value: unknown, path: string): MemberId {
  const memberId = typeof value === 'string' ? parseMemberId(value) : null;
  if (memberId === null) throw new UnreadableValueError(path, 'names a member with an invalid id');
  return memberId;
}

/** Most shards name a recorded member: looking it up is cheaper than checking the id again. */
function readMemberReference(value: unknown, path: string, members: ReadonlyMap<MemberId, Member>): MemberId {
  const known = members.get(value as MemberId);
  return known === undefined ? readMemberId(value, path) : known.memberId;
}

function readShard(value: unknown, index: number, members: ReadonlyMap<MemberId, Member>): Shard {
  const path = `shards[${index}]`;
  const stored = readObject(value, path, SHARD_FIELDS, OPTIONAL_SHARD_FIELDS);
  const { target, conflicts } = stored;
  return {
    target: target === null ? null : readMemberReference(target, path, members),
    occupancy: readOccupancy(stored, path, members),
    conflicts: conflicts === undefined ? NO_CONFLICTS : readConflicts(conflicts, path, members),
    lastToken: readCount(stored['token'], path) as FencingToken,
  };
}

function readOccupancy(
  stored: StoredObject,
  path: string,
  members: ReadonlyMap<MemberId, Member>,
): Occupancy {
  const holder = stored['holder'];
  const drain = stored['drain'];
  const blocked = stored['blocked'];
  if (holder === undefined && drain !== undefined)
    throw new UnreadableValueError(path, 'drains without holder');
  if (holder !== undefined && blocked !== undefined) {
    throw new UnreadableValueError(path, 'is held and blocked at once');
  }
  if (holder !== undefined) {
    const memberId = readMemberReference(holder, path, members);
    return { kind: 'HELD', memberId, drain: drain === undefined ? null : readDrain(drain, path) };
  }
  return blocked === undefined ? FREE : readBlock(blocked, path, members);
}

function readDrain(value: unknown, path: string): Drain {
  const stored = readObject(value, `${path}.drain`, ['version', 'deadlineMs']);
  return {
    recordedVersion: readCount(stored['version'], `${path}.drain.version`) as MetadataVersion,
    deadlineMs: readCount(stored['deadlineMs'], `${path}.drain.deadlineMs`) as EpochMillis,
  };
}

function readBlock(value: unknown, path: string, members: ReadonlyMap<MemberId, Member>): Occupancy {
  const stored = readObject(value, `${path}.blocked`, ['memberId', 'memberEpoch', 'untilMs']);
  return {
    kind: 'BLOCKED',
    memberId: readMemberReference(stored['memberId'], path, members),
    memberEpoch: readCount(stored['memberEpoch'], `${path}.blocked.memberEpoch`) as MemberEpoch,
    untilMs: readCount(stored['untilMs'], `${path}.blocked.untilMs`) as EpochMillis,
  };
}

function readConflicts(
  value: unknown,
  path: string,
  members: ReadonlyMap<MemberId, Member>,
): readonly Conflict[] {
  return readList(value, `${path}.conflicts`).map((entry) => {
    const stored = readObject(entry, `${path}.conflicts`, ['memberId', 'memberEpoch', 'untilMs']);
    return {
      memberId: readMemberReference(stored['memberId'], path, members),
      memberEpoch: readCount(stored['memberEpoch'], `${path}.conflicts`) as MemberEpoch,
      untilMs: nullOr(stored['untilMs'], (ms) => readCount(ms, `${path}.conflicts`) as EpochMillis),
    };
  });
}
