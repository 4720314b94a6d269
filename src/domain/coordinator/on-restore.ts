import { startRound } from '../correction/start-round';
import type { StoreRevision } from '../epochs';
import type { GroupMetadata, Leases } from '../group/group-metadata';
import { isLive } from '../membership/member';
import { accepted, refused } from '../result';
import type { AdminResult } from './on-admin';
import type { Decision, DecisionContext, GroupCommand, GroupState } from './decision';
import { Transition, unchanged } from './transition';

/**
 * Puts an exported group in the place of one that is missing, or older than the export. Whoever was a member then gets a whole
 * lease to report, and a correction round finds out who reads what: nothing is granted before all have told and everyone whom
 * the export does not know has outlived its lease. The effect provisions streams that are missing.
 * Refused when what is recorded is newer: writes since the export would be lost.
 */
export function onRestoreGroup(exported: GroupMetadata): GroupCommand<AdminResult<GroupMetadata>> {
  return {
    name: 'restore-group',
    decide: (state, context) => {
      const recorded = state.metadata;
      if (recorded !== null && recorded.metadataVersion > exported.metadataVersion) {
        const { metadataVersion: currentVersion } = recorded;
        return unchanged(state, () => refused({ code: 'STATE_CONFLICT', currentVersion }));
      }
      return restore(exported, state.leases, context);
    },
  };
}

function restore(
  exported: GroupMetadata,
  leases: Leases,
  context: DecisionContext,
): Decision<AdminResult<GroupMetadata>> {
  const storeRevision = Math.max(exported.storeRevision + 1, context.drawMs) as StoreRevision;
  const transition = new Transition({ ...exported, storeRevision, provisioning: 'PENDING' }, leases, {
    ...context,
    recordedVersion: exported.metadataVersion,
  });
  startRound(transition, { cause: 'RESTORE', observedVersion: null });
  for (const memberId of leases.keys()) {
    transition.removeLease(memberId);
    transition.report(memberId, null);
  }
  for (const member of exported.members.values()) if (isLive(member)) transition.renewLease(member.memberId);
  transition.request({ kind: 'PROVISION' });
  return transition.decide(recordedGroup);
}

function recordedGroup({ metadata }: GroupState): AdminResult<GroupMetadata> {
  return metadata === null ? refused({ code: 'GROUP_NOT_FOUND' }) : accepted(metadata);
}
