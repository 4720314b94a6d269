import type { Transition } from '../coordinator/transition';
import { hasOpenDrain } from '../group/derived-state';
import type { Drain } from '../group/group-metadata';
import { FREE } from '../group/group-metadata';
import type { ShardIndex } from '../ids';
import type { HeartbeatRequest } from './heartbeat-request';
import type { Member } from './member';
import { heldBy } from './tenure';

/**
 * Frees what a member reports as let go (docs/protocol.md, Who holds a shard, 1 and 2): REVOKED with nothing in flight, or both
 * lists present and the shard in neither. Only shards that are being drained: one that a newer target gave back is simply the
 * member's again. `isCurrent` tells a late duplicate from a report that knows of the drain.
 */
export function releaseReported(
  transition: Transition,
  member: Member,
  request: HeartbeatRequest,
  isCurrent: (drain: Drain) => boolean,
): void {
  if (request.revoking === null && request.owned === null) return;
  const { draft } = transition;
  if (!draft.hasMovedShards && !hasOpenDrain(draft.base)) return; // the usual heartbeat: nothing to let go of
  for (const index of heldBy(transition, member.memberId)) {
    const occupancy = draft.currentShards()[index]?.occupancy;
    if (occupancy?.kind !== 'HELD' || occupancy.drain === null) continue;
    if (isCurrent(occupancy.drain) && isLetGo(request, index)) draft.occupy(index, FREE);
  }
}

/** Whether the request reports a shard gone: REVOKED with nothing in flight, or both lists present and the shard in neither. */
export function isLetGo({ owned, revoking }: HeartbeatRequest, index: ShardIndex): boolean {
  const report = revoking?.get(index);
  if (report !== undefined) return report.state === 'REVOKED' && report.inFlight === 0;
  return owned !== null && revoking !== null && !owned.has(index);
}

/** The first shard that the request claims to read although it is not held by this tenure; null when there is none. */
export function findForeignClaim(
  { draft }: Transition,
  { memberId }: Member,
  { owned }: HeartbeatRequest,
): ShardIndex | null {
  if (owned === null) return null;
  for (const index of owned) {
    const occupancy = draft.base.shards[index]?.occupancy;
    if (occupancy?.kind !== 'HELD' || occupancy.memberId !== memberId) return index;
  }
  return null;
}
