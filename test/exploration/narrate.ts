import type { Cells } from './cells';
import type { Client } from './client';
import type { Explorer, Violation } from './explore';
import { bitsOf } from './labels';
import type { Message } from './messages';
import { NOW } from './model-time';
import { ageIn, clientAt, GROUP, MAX_STRAYS, messageIn, REDIS, slotAt, SNAPSHOT, STRAYS } from './state-row';
import type { Step } from './transitions';
import type { WorldOptions } from './world-options';

/**
 * A history as text: each step, and the state after it. Versions and epochs are the ranks that they have in that state; times
 * are steps of the clock from now.
 */
export function narrate(explorer: Explorer, options: WorldOptions, { what, history }: Violation): string {
  const { cells } = explorer.transitions;
  const lines = history.map(({ step, argument, row }, index) => {
    const title = `${index}. ${titleOf(step, argument, options)}`;
    const isLastOfTwo = index === history.length - 1 && history[index - 1]?.row === row;
    return isLastOfTwo ? title : [title, ...stateLines(cells, options, row)].join('\n');
  });
  return [`${options.name}: ${what}`, '', ...lines, ''].join('\n');
}

const SHARDS_PER_CLIENT = 32;

function titleOf(step: Step | 'START', argument: number, { members }: WorldOptions): string {
  const who = processName(argument, members);
  const stopping = processName(Math.floor(argument / SHARDS_PER_CLIENT), members);
  const texts: Record<Step | 'START', string> = {
    START: 'start',
    ANSWER: `the answer reaches ${who}`,
    DELIVER: `the request of ${who} is decided and recorded`,
    STRAY: `the stray request ${argument} arrives`,
    STOP: `nothing of ${stopping} runs on shard ${argument % SHARDS_PER_CLIENT} any more`,
    SEND: `${who} heartbeats`,
    SEND_BARE: `${who} heartbeats without telling what it reads`,
    TICK: 'the event loop looks',
    CLOCK: 'a step of the clock',
    LOSE: `${who} waits in vain`,
    DUPLICATE: `the request of ${who} is decided and recorded, a copy of it stays under way`,
    RESTART: `${who} dies and starts again without memory`,
    LEAVE: `${who} is asked to stop`,
    ROLLBACK: 'Redis goes back',
    DELIVER_LOST: `the request of ${who} is decided and recorded; Redis will lose this and all that follows`,
    STRAY_LOST: `the stray request ${argument} arrives; Redis will lose this and all that follows`,
    TICK_LOST: 'the event loop looks; Redis will lose this and all that follows',
  };
  return texts[step];
}

function processName(position: number, members: readonly string[]): string {
  return `${members[position] ?? '?'} (process ${position})`;
}

function stateLines(cells: Cells, { members }: WorldOptions, row: Int32Array): string[] {
  const group = row[GROUP] as number;
  const lines = [`   Redis ${row[REDIS] as number}: ${groupText(cells, group)}`];
  const snapshot = row[SNAPSHOT] as number;
  if (snapshot !== 0) lines.push(`   goes back to: ${groupText(cells, snapshot - 1)}`);
  members.forEach((_, position) => {
    const slot = row[slotAt(position)] as number;
    const waits =
      slot === 0 ? '' : `; ${messageText(cells.messages.at(messageIn(slot)))}, sent ${ageIn(slot)} ago`;
    const client = cells.clients.at(row[clientAt(position)] as number);
    lines.push(`   ${processName(position, members)}: ${clientText(client)}${waits}`);
  });
  for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
    const stray = row[at] as number;
    if (stray !== 0) lines.push(`   stray ${at - STRAYS}: ${messageText(cells.messages.at(stray - 1))}`);
  }
  return lines;
}

function groupText(cells: Cells, position: number): string {
  const { metadata, leases } = cells.groups.at(position);
  if (metadata === null) return 'no group';
  const members = [...metadata.members.values()].map(({ memberId, state, memberEpoch, instanceId }) => {
    const leaseMs = leases.get(memberId);
    const lease = leaseMs === undefined ? '' : `, lease ${leaseMs - NOW}`;
    return `${memberId} ${state} epoch ${memberEpoch} id ${instanceId ?? 'none'}${lease}`;
  });
  const shards = metadata.shards.map(({ target, occupancy, conflicts }, index) => {
    const open = conflicts.length === 0 ? '' : ` conflicts ${JSON.stringify(conflicts)}`;
    return `shard ${index} for ${target ?? 'nobody'}: ${JSON.stringify(occupancy)}${open}`;
  });
  const { correction } = metadata;
  const round =
    correction === null
      ? []
      : [
          `round ${correction.roundVersion} since ${NOW - correction.startedAtMs}, told: ${[...correction.synced].join()}`,
        ];
  return [`version ${metadata.metadataVersion}`, ...members, ...shards, ...round]
    .join('; ')
    .replaceAll('"', '');
}

function clientText(client: Client): string {
  const { phase, epoch, previousEpoch, version, leaseEndMs, instance } = client;
  const shards = (['reading', 'draining', 'revoked', 'winding'] as const)
    .filter((kind) => client[kind] !== 0)
    .map((kind) => `${kind} ${bitsOf(client[kind]).join()}`);
  const numbers = `epoch ${epoch}, previous ${previousEpoch}, id ${instance}, version ${version}, lease ${leaseEndMs - NOW}`;
  return [phase, numbers, ...shards].join(' ');
}

function messageText(message: Message): string {
  const shards = (mask: number): string => `{${bitsOf(mask).join()}}`;
  if (message.kind === 'ANSWER') {
    const { form, status, epoch, version, assigned, revoking } = message;
    return `answer ${status} to ${form} (epoch ${epoch}, version ${version}, assigned ${shards(assigned)}, revoking ${shards(revoking)})`;
  }
  const { form, member, epoch, previousEpoch, instance, version, owned, draining, revoked } = message;
  return `${form} of member ${member} (epoch ${epoch}, previous ${previousEpoch}, id ${instance}, version ${version}, owned ${shards(owned)}, draining ${shards(draining)}, revoked ${shards(revoked)})`;
}
