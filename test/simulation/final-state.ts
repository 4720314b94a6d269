import { groupState } from '../../src/domain/group/derived-state';
import { isEligible, isLive } from '../../src/domain/membership/member';
import type { SimulatedMember } from './member';
import { TIMING } from './timing';
import type { World } from './world';

/**
 * What is still missing of the state that every schedule must come to once faults have ended: all members known and answered
 * OK, the shards balanced, each read by the one who is recorded as its holder, no correction round active.
 */
export function whatIsMissing(world: World): string[] {
  const { metadata } = world.judge.recordedGroup();
  if (metadata === null) return ['the group does not exist'];
  const running = world.runningMembers();
  const recorded = [...metadata.members.values()].filter(isLive);
  const missing: string[] = [];
  if (metadata.correction !== null) missing.push('a correction round is active');
  const stateWanted = running.length === 0 ? 'EMPTY' : 'STABLE';
  const state = groupState(metadata);
  if (state !== stateWanted) missing.push(`the group is ${state}`);
  for (const member of running) missing.push(...whatMemberMisses(world, member));
  const alive = new Set(running.map(({ memberId }) => memberId));
  for (const { memberId } of recorded) {
    if (!alive.has(memberId)) missing.push(`${memberId} is recorded as live, but is gone`);
  }
  const eligible = recorded.filter(isEligible);
  const counts = eligible.map(
    ({ memberId }) => metadata.shards.filter(({ target }) => target === memberId).length,
  );
  if (eligible.length > 0 && Math.max(...counts) - Math.min(...counts) > 1)
    missing.push(`not balanced: ${counts.join(' ')}`);
  metadata.shards.forEach(({ occupancy }, shard) => {
    const readers = running.filter((member) => member.readingShards().includes(shard));
    const holder = occupancy.kind === 'HELD' ? occupancy.memberId : null;
    if (eligible.length === 0) return;
    if (readers.length !== 1 || readers[0]?.memberId !== holder) {
      const names = readers.map(({ name }) => name).join(', ');
      missing.push(`shard ${shard} is held by ${holder ?? 'nobody'} and read by [${names}]`);
    }
  });
  return missing;
}

function whatMemberMisses(world: World, member: SimulatedMember): string[] {
  const { metadata } = world.judge.recordedGroup();
  const recorded = [...(metadata?.members.values() ?? [])].find(
    ({ memberId }) => memberId === member.memberId,
  );
  const missing: string[] = [];
  if (recorded === undefined || recorded.memberEpoch !== member.memberEpoch)
    missing.push(
      `${member.name} has epoch ${member.memberEpoch}, recorded is ${recorded?.memberEpoch ?? 'none'}`,
    );
  if (world.scheduler.nowMs - member.lastOkAtMs > 2.5 * TIMING.heartbeatIntervalMs)
    missing.push(`${member.name} was last answered OK at ${member.lastOkAtMs}`);
  return missing;
}
