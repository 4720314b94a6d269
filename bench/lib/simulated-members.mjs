/**
 * Members that are nothing but their heartbeats: they join, give up what they are asked to, and report what they hold,
 * until their group is at rest. For load on the coordinator, where a thousand real consumers would be the bottleneck.
 */
import { groupView, heartbeat } from './coordinator.mjs';

const MAX_ROUNDS = 100;
const JOINS_AT_ONCE = 64;
const MAX_CONCURRENCY = 4;

/** Joins `count` members to a group and resolves once it is STABLE: each with its body for the next heartbeat. */
export async function joinedMembers(coordinator, group, count) {
  const members = Array.from({ length: count }, (_unused, index) => ({
    memberId: `${group.consumerGroup}-${String(index).padStart(4, '0')}-pod.svc`,
    memberEpoch: 0,
    metadataVersion: 0,
    assigned: [],
    revoking: [],
  }));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    await beatAll(coordinator, group, members);
    const { state } = await groupView(coordinator, group);
    // A round more: every member has to know the version that made the group stable.
    if (state === 'STABLE') {
      await beatAll(coordinator, group, members);
      return members;
    }
  }
  throw new Error(`${group.consumerGroup} is not STABLE after ${MAX_ROUNDS} rounds of heartbeats`);
}

async function beatAll(coordinator, group, members) {
  for (let first = 0; first < members.length; first += JOINS_AT_ONCE) {
    const some = members.slice(first, first + JOINS_AT_ONCE);
    await Promise.all(some.map((member) => beat(coordinator, group, member)));
  }
}

async function beat(coordinator, group, member) {
  const answer = await heartbeat(coordinator, group, heartbeatBody(group, member, { counter: 0 }));
  if (answer.status !== 'OK') throw new Error(`${member.memberId}: ${answer.status}`);
  member.memberEpoch = answer.memberEpoch;
  member.metadataVersion = answer.metadataVersion;
  member.assigned = answer.assignment.assignedShards.map(({ shardIndex }) => shardIndex);
  member.revoking = (answer.assignment.revokingShards ?? []).map(({ shardIndex }) => shardIndex);
}

/** As the SDK reports: what is owned, what is given up, and how far each shard is. */
function heartbeatBody({ streamPrefix }, member, { counter, maxConcurrency = MAX_CONCURRENCY }) {
  const isJoin = member.memberEpoch === 0;
  return {
    protocolVersion: 1,
    requestId: `${member.memberId}-${counter}`,
    memberId: member.memberId,
    memberName: 'bench',
    memberEpoch: member.memberEpoch,
    metadataVersion: member.metadataVersion,
    runtimeConsumerCapacity: { runtimeMaxConcurrency: maxConcurrency, availableConcurrency: 3 },
    ownedShards: isJoin ? [] : member.assigned.map((shardIndex) => ({ shardIndex })),
    revokingShards: member.revoking.map((shardIndex) => ({
      shard: { shardIndex },
      state: 'REVOKED',
      inFlight: 0,
    })),
    shardProgress: isJoin
      ? []
      : member.assigned.map((shardIndex) => ({
          shard: { shardIndex },
          streamKey: `${streamPrefix}:${shardIndex}`,
          lastDeliveredId: `1760000000000-${counter}`,
          lastAckedId: `1760000000000-${counter}`,
          pendingCount: 0,
          updatedAt: 1_760_000_000_000,
        })),
  };
}

/** Stand for the counter of a heartbeat, and for a concurrency that changes with each one of its member. */
export const COUNTER_MARK = '@counter@';
export const TOGGLE_MARK = '@toggle@';

/** The text of a member's heartbeats, with marks where they differ. `isChanging`: each changes what the group records. */
export function heartbeatTemplate(group, member, { isChanging = false } = {}) {
  const maxConcurrency = isChanging ? TOGGLE_MARK : MAX_CONCURRENCY;
  const body = heartbeatBody(group, member, { counter: COUNTER_MARK, maxConcurrency });
  return JSON.stringify(body).replaceAll(`"${TOGGLE_MARK}"`, TOGGLE_MARK);
}
