import type { GroupView, MembersView } from '../../src/protocol';
import type { CoordinatorProcess, GroupName } from './coordinator-process';

/** What monitoring shows of a group; null when it answers anything but 200. */
export async function groupViewFrom(
  coordinator: CoordinatorProcess,
  { streamPrefix, consumerGroup }: GroupName,
): Promise<GroupView | null> {
  const path = `/coord/v1/monitoring/streams/${streamPrefix}/groups/${consumerGroup}`;
  const { status, body } = await coordinator.call('GET', path);
  return status === 200 ? (body as GroupView) : null;
}

/** State and epoch of each recorded member, by id. */
export async function memberStatesFrom(
  coordinator: CoordinatorProcess,
  { streamPrefix, consumerGroup }: GroupName,
): Promise<Readonly<Record<string, readonly [state: string, epoch: number]>>> {
  const path = `/coord/v1/monitoring/streams/${streamPrefix}/groups/${consumerGroup}/members`;
  const { status, body } = await coordinator.call('GET', path);
  if (status !== 200) throw new Error(`no members: ${status} ${JSON.stringify(body)}`);
  const { members } = body as MembersView;
  return Object.fromEntries(members.map((member) => [member.memberId, [member.state, member.memberEpoch]]));
}

/** Whether every shard is held by whom it is meant for, and the shares differ by one at most. */
export function isBalanced(view: GroupView | null, memberCount: number): boolean {
  if (view?.state !== 'STABLE') return false;
  const shares = Object.values(view.currentAssignmentSummary);
  const sum = shares.reduce((total, share) => total + share, 0);
  return (
    shares.length === memberCount && sum === view.shardCount && Math.max(...shares) - Math.min(...shares) <= 1
  );
}

/** A value in /metrics; 0 if there is none under this name. `series`: name with labels as they are printed. */
export async function metricFrom(coordinator: CoordinatorProcess, series: string): Promise<number> {
  const text = String((await coordinator.call('GET', '/metrics')).body);
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}
