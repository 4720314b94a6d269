import type { GroupMetadata } from '../group/group-metadata';
import { newGroup } from '../group/new-group';
import type { NewGroup } from '../group/new-group';
import type { MemberId } from '../ids';
import { isLive } from '../membership/member';
import { sweepDeadlines } from '../membership/sweep';
import { fenceMember } from '../membership/tenure';
import { accepted, refused } from '../result';
import type { Result } from '../result';
import type { EpochMillis } from '../time';
import { deadlineAfter, durationMs } from '../time';
import { conclude } from './conclude';
import type { Decision, DecisionContext, GroupCommand, GroupState } from './decision';
import type { AdminRefusal } from './refusals';
import { openTransition } from './open-transition';
import type { Transition } from './transition';
import { unchanged } from './transition';

export type AdminResult<Value> = Result<Value, AdminRefusal>;

/**
 * Creates a group; the effect provisions its streams. A group whose provisioning was interrupted goes on: the same request
 * repeated finishes it.
 */
export function onCreateGroup(group: NewGroup): GroupCommand<AdminResult<GroupMetadata>> {
  return {
    name: 'create-group',
    decide: (state, context) => {
      if (state.metadata?.provisioning === 'COMPLETE') return refuse(state, { code: 'GROUP_ALREADY_EXISTS' });
      return {
        ...unchanged(state, recordedGroup),
        metadata: state.metadata ?? newGroup(afterFormerLife(group, context), context),
        effects: [{ kind: 'PROVISION' }],
      };
    },
  };
}

/**
 * Members of a former life may read for a whole lease from now when nobody knows the end of theirs: this process remembers the
 * group and Redis does not, it was deleted while its creation was under way, or it is a quiet period, in which no recorded end proves anything.
 */
function afterFormerLife(
  group: NewGroup,
  { remembered, mayEndTenures, nowMs, timing }: DecisionContext,
): NewGroup {
  const { grantsFromMs, wasThere = false } = group;
  const isEndKnown = remembered === null && !wasThere && (grantsFromMs === null || mayEndTenures);
  if (isEndKnown) return group;
  const endMs = deadlineAfter(nowMs, durationMs(timing.memberLeaseTtlMs));
  return { ...group, grantsFromMs: grantsFromMs !== null && grantsFromMs > endMs ? grantsFromMs : endMs };
}

/** Every stream and Redis group exists: from here on shards are granted. */
export function onCompleteProvisioning(): GroupCommand<AdminResult<GroupMetadata>> {
  return {
    name: 'complete-provisioning',
    decide: (state, context) => {
      if (state.metadata === null) return refuse(state, { code: 'GROUP_NOT_FOUND' });
      if (state.metadata.provisioning === 'COMPLETE') return unchanged(state, recordedGroup);
      const transition = openTransition(state.metadata, state.leases, context);
      sweepDeadlines(transition);
      transition.draft.completeProvisioning();
      conclude(transition);
      return transition.decide(recordedGroup);
    },
  };
}

export interface DeletedGroup {
  /** As it was recorded last. */
  readonly metadata: GroupMetadata;
  /** When its members have stopped reading at the latest: a new life of the group grants nothing before. */
  readonly leasesEndMs: EpochMillis;
}

/** Deletes a group. Live members are told 404 from then on, and stop at the end of their lease at the latest. */
export function onDeleteGroup(options: {
  readonly force: boolean;
  readonly expectedVersion: number | null;
}): GroupCommand<AdminResult<DeletedGroup>> {
  return {
    name: 'delete-group',
    decide: (state, context) => {
      const { metadata } = state;
      if (metadata === null) return refuse(state, { code: 'GROUP_NOT_FOUND' });
      const transition = openTransition(metadata, state.leases, context);
      if (transition.draft.correction !== null) return refuseInRound(transition);
      const conflict = versionConflict(metadata, options.expectedVersion);
      if (conflict !== null) return refuse(state, conflict);
      const liveMembers = [...metadata.members.values()].filter(
        (member) => isLive(member) && hasLease(state, member.memberId, context),
      );
      if (liveMembers.length > 0 && !options.force) {
        return refuse(state, { code: 'LIVE_MEMBERS_PRESENT', liveMembers: liveMembers.length });
      }
      const deleted: DeletedGroup = { metadata, leasesEndMs: lastLeaseEnd(state, metadata, context) };
      return {
        ...unchanged(state, () => accepted(deleted)),
        metadata: null,
        // Whose tenures end here: a renewal that this decision did not see must not outlive leasesEndMs.
        endedTenures: [...state.leases.keys()],
      };
    },
  };
}

/** An operator excludes a member: its shards move once its recorded lease has ended. A dead one stays as it is. */
export function onFenceMember(options: {
  readonly memberId: MemberId;
  readonly expectedVersion: number | null;
}): GroupCommand<AdminResult<GroupMetadata>> {
  return {
    name: 'fence-member',
    decide: (state, context) => {
      const { metadata } = state;
      if (metadata === null) return refuse(state, { code: 'GROUP_NOT_FOUND' });
      const transition = openTransition(metadata, state.leases, context);
      if (transition.draft.correction !== null) return refuseInRound(transition);
      const conflict = versionConflict(metadata, options.expectedVersion);
      if (conflict !== null) return refuse(state, conflict);
      sweepDeadlines(transition);
      const member = transition.draft.currentMembers().get(options.memberId);
      if (member === undefined) return refuse(state, { code: 'MEMBER_NOT_FOUND' });
      if (isLive(member)) fenceMember(transition, member);
      conclude(transition);
      return transition.decide(recordedGroup);
    },
  };
}

function recordedGroup({ metadata }: GroupState): AdminResult<GroupMetadata> {
  return metadata === null ? refused({ code: 'GROUP_NOT_FOUND' }) : accepted(metadata);
}

function refuse(
  state: GroupState,
  refusal: AdminRefusal,
): Decision<{ readonly ok: false; readonly refusal: AdminRefusal }> {
  return unchanged(state, () => refused(refusal));
}

/** Also when this very request found out that a round is needed: the round begins, the request is refused. */
function refuseInRound(
  transition: Transition,
): Decision<{ readonly ok: false; readonly refusal: AdminRefusal }> {
  const { correction } = transition.draft;
  const startedAtMs = correction?.startedAtMs ?? transition.context.nowMs;
  return transition.decide(() => refused({ code: 'METADATA_CORRECTION_ACTIVE', startedAtMs }));
}

function versionConflict({ metadataVersion }: GroupMetadata, expected: number | null): AdminRefusal | null {
  return expected === null || expected === (metadataVersion as number)
    ? null
    : { code: 'STATE_CONFLICT', currentVersion: metadataVersion };
}

function hasLease(
  { leases }: GroupState,
  memberId: MemberId,
  { nowMs, mayEndTenures }: DecisionContext,
): boolean {
  return !mayEndTenures || (leases.get(memberId) ?? 0) > nowMs;
}

function lastLeaseEnd(
  { leases }: GroupState,
  metadata: GroupMetadata,
  { nowMs, mayEndTenures, timing }: DecisionContext,
): EpochMillis {
  const ends = [...leases.values()];
  for (const { occupancy } of metadata.shards) if (occupancy.kind === 'BLOCKED') ends.push(occupancy.untilMs);
  if (metadata.grantsFromMs > metadata.createdAtMs) ends.push(metadata.grantsFromMs); // of a former life
  // In a quiet period none of them is to be believed.
  if (!mayEndTenures && ends.length > 0) ends.push(deadlineAfter(nowMs, durationMs(timing.memberLeaseTtlMs)));
  return ends.reduce((latest, end) => (end > latest ? end : latest), nowMs);
}
