import type { GroupState } from '../../src/domain/coordinator/decision';
import type {
  AssignmentEpoch,
  FencingToken,
  GroupEpoch,
  MemberEpoch,
  MetadataVersion,
  StoreRevision,
} from '../../src/domain/epochs';
import type { CorrectionRound, GroupMetadata, Occupancy, Shard } from '../../src/domain/group/group-metadata';
import type { MemberId, WriteId } from '../../src/domain/ids';
import { isLive } from '../../src/domain/membership/member';
import type { Member } from '../../src/domain/membership/member';
import type { EpochMillis } from '../../src/domain/time';
import { epochLabel, instanceId, instanceLabel, LAST_EPOCH, NONE } from './labels';
import { NOW } from './model-time';

/** What is done to each number of a group. */
export interface GroupMapping {
  /** A metadataVersion with which those of requests are compared. */
  readonly version: (label: number) => number;
  readonly epoch: (label: number, memberId: MemberId) => number;
  readonly instance: (label: number) => number;
  /** An instant; what lies further back than `pastMs` makes no difference any more. */
  readonly instant: (atMs: number, pastMs: number) => number;
}

export interface GroupFacts {
  /** Positions name members in labels. */
  readonly positionOf: (memberId: MemberId) => number;
  /** Whether a leave may be judged by the version at which its tenure joined: only those of base clients. */
  readonly isJoinedVersionUsed: boolean;
  /** After which the age of a correction round makes no difference. */
  readonly roundPastMs: number;
}

const keep = (value: number): number => value;
const clamp = (atMs: number, pastMs: number): number => Math.max(atMs, NOW - pastMs);

/** Leaves out what no later decision depends on: numbers for observation, what is remembered of the dead, past instants. */
export function normalGroup(state: GroupState, facts: GroupFacts): GroupState {
  const { metadata } = state;
  if (metadata === null) return state;
  const correction = metadata.correction === null ? null : normalRound(metadata.correction, metadata);
  const normal: GroupMetadata = {
    ...metadata,
    updatedAtMs: NOW as EpochMillis,
    storeRevision: 0 as StoreRevision,
    writeId: '' as WriteId,
    // Every other version in use is older than all that are remembered: the id of a Redis that went back has changed.
    recentVersions: [metadata.metadataVersion],
    groupEpoch: 0 as GroupEpoch,
    assignmentEpoch: 0 as AssignmentEpoch,
    lastMemberEpoch: LAST_EPOCH as MemberEpoch,
    shards: metadata.shards.map((shard) => ({ ...shard, lastToken: 0 as FencingToken })),
    members: new Map(
      [...metadata.members]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([id, member]) => [id, normalMember(member, facts)]),
    ),
    correction,
    rounds: {
      lastRoundVersion: correction?.roundVersion ?? (NONE as MetadataVersion),
      lastObservedVersion: null,
      strangerAtMs: null,
    },
  };
  return mapGroup(
    { metadata: normal, leases: state.leases },
    {
      version: keep,
      epoch: (epoch, memberId) => epochLabel(epoch, facts.positionOf(memberId)),
      instance: keep,
      instant: clamp,
    },
    facts,
  );
}

function normalMember(member: Member, { isJoinedVersionUsed }: GroupFacts): Member {
  const common = { stateChangedAtMs: NOW as EpochMillis, correctedAtMs: null, lostVersion: null };
  const forgotten = NONE as MetadataVersion;
  if (!isLive(member))
    return {
      ...member,
      ...common,
      state: 'EXPIRED',
      memberEpoch: NONE as MemberEpoch,
      instanceId: null,
      joinedVersion: forgotten,
    };
  // A member that has not confirmed its epoch yet is treated like any other.
  const state = member.state === 'STARTING' ? 'ACTIVE' : member.state;
  return {
    ...member,
    ...common,
    state,
    joinedVersion: isJoinedVersionUsed ? member.joinedVersion : forgotten,
  };
}

function normalRound(round: CorrectionRound, { members }: GroupMetadata): CorrectionRound {
  const synced = [...round.synced].filter((memberId) => {
    const member = members.get(memberId);
    return member !== undefined && isLive(member);
  });
  return { ...round, observedVersion: null, synced: new Set(synced.sort()) };
}

/** The same group with other numbers. */
export function mapGroup(state: GroupState, mapping: GroupMapping, facts: GroupFacts): GroupState {
  const { metadata, leases } = state;
  if (metadata === null) return state;
  const version = mapping.version(metadata.metadataVersion) as MetadataVersion;
  const { correction } = metadata;
  const round = correction === null ? null : mapRound(correction, mapping, facts);
  return {
    metadata: {
      ...metadata,
      metadataVersion: version,
      recentVersions: [version],
      shards: metadata.shards.map((shard) => mapShard(shard, mapping)),
      members: new Map([...metadata.members].map(([id, member]) => [id, mapMember(member, mapping)])),
      correction: round,
      rounds: { ...metadata.rounds, lastRoundVersion: round?.roundVersion ?? (NONE as MetadataVersion) },
    },
    leases: new Map(
      [...leases]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([id, endMs]) => [id, mapping.instant(endMs, 0) as EpochMillis]),
    ),
  };
}

function mapMember(member: Member, { version, epoch, instance }: GroupMapping): Member {
  return {
    ...member,
    memberEpoch: epoch(member.memberEpoch, member.memberId) as MemberEpoch,
    instanceId: instanceId(instance(instanceLabel(member.instanceId))),
    joinedVersion: version(member.joinedVersion) as MetadataVersion,
  };
}

function mapShard(shard: Shard, mapping: GroupMapping): Shard {
  return {
    ...shard,
    occupancy: mapOccupancy(shard.occupancy, mapping),
    conflicts: shard.conflicts.map((conflict) => ({
      ...conflict,
      memberEpoch: mapping.epoch(conflict.memberEpoch, conflict.memberId) as MemberEpoch,
      untilMs: conflict.untilMs === null ? null : (mapping.instant(conflict.untilMs, 0) as EpochMillis),
    })),
  };
}

function mapOccupancy(occupancy: Occupancy, { version, epoch, instant }: GroupMapping): Occupancy {
  if (occupancy.kind === 'FREE') return occupancy;
  if (occupancy.kind === 'BLOCKED') {
    const untilMs = instant(occupancy.untilMs, 0) as EpochMillis;
    return {
      ...occupancy,
      memberEpoch: epoch(occupancy.memberEpoch, occupancy.memberId) as MemberEpoch,
      untilMs,
    };
  }
  const { drain } = occupancy;
  if (drain === null) return occupancy;
  const recordedVersion = version(drain.recordedVersion) as MetadataVersion;
  return {
    ...occupancy,
    drain: { recordedVersion, deadlineMs: instant(drain.deadlineMs, 0) as EpochMillis },
  };
}

function mapRound(
  round: CorrectionRound,
  { version, instant }: GroupMapping,
  { roundPastMs }: GroupFacts,
): CorrectionRound {
  return {
    ...round,
    roundVersion: version(round.roundVersion) as MetadataVersion,
    startedAtMs: instant(round.startedAtMs, roundPastMs) as EpochMillis,
    silentUntilMs: instant(round.silentUntilMs, 0) as EpochMillis,
  };
}

/** The group one step of the clock later. */
export function ageGroup(state: GroupState, facts: GroupFacts, stepMs: number): GroupState {
  const instant = (atMs: number, pastMs: number): number => clamp(atMs - stepMs, pastMs);
  return mapGroup(state, { version: keep, epoch: keep, instance: keep, instant }, facts);
}

/** Two groups in normal form with the same key are the same group. */
export function keyOfGroup({ metadata, leases }: GroupState): string {
  if (metadata === null) return 'none';
  const { correction: round } = metadata;
  return JSON.stringify([
    metadata.metadataVersion,
    metadata.redisId,
    [...metadata.members.values()].map((one) => [
      one.memberId,
      one.state,
      one.memberEpoch,
      one.instanceId,
      one.joinedVersion,
    ]),
    metadata.shards.map(({ target, occupancy, conflicts }) => [target, occupancy, conflicts]),
    round === null ? 0 : [round.roundVersion, round.startedAtMs, round.silentUntilMs, [...round.synced]],
    [...leases],
  ]);
}
