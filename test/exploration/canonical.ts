import type { Cells } from './cells';
import { ALWAYS_USED, bitOfEpoch, DEAD_EPOCHS } from './labels';
import type { Request } from './messages';
import { ageIn, CLIENTS, GROUP, MAX_STRAYS, messageIn, SNAPSHOT, slotOf, STRAYS } from './state-row';

/**
 * Brings a state to the form in which it equals every state that cannot be told from it by anything that happens later:
 * requests that can have no effect are dropped, a version counts as the latest recorded one that it has reached, a previous
 * epoch that nothing recorded has is none, and all numbers become their ranks.
 */
export class CanonicalForm {
  constructor(private readonly cells: Cells) {}

  /** Changes the row in place. */
  apply(row: Int32Array): void {
    this.dropIdleStrays(row);
    this.settleNumbers(row);
    this.relabel(row);
    row.subarray(STRAYS, STRAYS + MAX_STRAYS).sort();
  }

  private dropIdleStrays(row: Int32Array): void {
    for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
      const stray = row[at] as number;
      if (stray !== 0 && !this.canHaveEffect(row, this.cells.messages.at(stray - 1) as Request)) row[at] = 0;
    }
  }

  /** A look of the event loop does what any request does besides. */
  private canHaveEffect(row: Int32Array, request: Request): boolean {
    switch (request.form) {
      case 'JOIN':
        return true;
      case 'BEAT':
        return (this.recordedEpochs(row) & bitOfEpoch(request.epoch)) !== 0;
      case 'LEAVE':
        return request.isBase
          ? this.isJoinedBefore(row, request)
          : (this.usableInstances(row) & (1 << request.instance)) !== 0;
    }
  }

  private recordedEpochs(row: Int32Array): number {
    const { groups } = this.cells;
    const snapshot = row[SNAPSHOT] as number;
    const now = groups.epochs[row[GROUP] as number] as number;
    return snapshot === 0 ? now : now | (groups.epochs[snapshot - 1] as number);
  }

  /** Of recorded tenures, and of those that a join may still record. */
  private usableInstances(row: Int32Array): number {
    const { groups, clients, messages } = this.cells;
    const snapshot = row[SNAPSHOT] as number;
    let used = groups.instances[row[GROUP] as number] as number;
    if (snapshot !== 0) used |= groups.instances[snapshot - 1] as number;
    const addJoin = (message: number): void => {
      const value = messages.at(message);
      if (value.kind === 'REQUEST' && value.form === 'JOIN') used |= messages.instances[message] as number;
    };
    for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1)
      if (row[at] !== 0) addJoin((row[at] as number) - 1);
    for (let at = CLIENTS; at < row.length; at += 2) {
      const client = row[at] as number;
      if (clients.at(client).phase === 'JOINING') used |= clients.instances[client] as number;
      const slot = row[at + 1] as number;
      if (slot !== 0) addJoin(messageIn(slot));
    }
    return used;
  }

  private isJoinedBefore(row: Int32Array, { member, version }: Request): boolean {
    const memberId = this.cells.memberIdAt(member);
    return [row[GROUP] as number, (row[SNAPSHOT] as number) - 1].some((group) => {
      const recorded = group < 0 ? undefined : this.cells.groups.at(group).metadata?.members.get(memberId);
      return recorded !== undefined && recorded.memberEpoch > 0 && recorded.joinedVersion <= version;
    });
  }

  private settleNumbers(row: Int32Array): void {
    const { groups, clients, messages } = this.cells;
    const snapshot = row[SNAPSHOT] as number;
    const now = groups.versions[row[GROUP] as number] as number;
    const versions = snapshot === 0 ? now : now | (groups.versions[snapshot - 1] as number);
    const epochs = this.recordedEpochs(row);
    for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
      const stray = row[at] as number;
      if (stray !== 0) row[at] = settled(messages, stray - 1, versions, epochs) + 1;
    }
    for (let at = CLIENTS; at < row.length; at += 2) {
      row[at] = settled(clients, row[at] as number, versions, epochs);
      const slot = row[at + 1] as number;
      if (slot !== 0) row[at + 1] = slotOf(settled(messages, messageIn(slot), versions, epochs), ageIn(slot));
    }
  }

  private relabel(row: Int32Array): void {
    const { groups, clients, messages } = this.cells;
    const used = this.usedLabels(row);
    const snapshot = row[SNAPSHOT] as number;
    row[GROUP] = renamed(groups, row[GROUP] as number, used);
    if (snapshot !== 0) row[SNAPSHOT] = renamed(groups, snapshot - 1, used) + 1;
    for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
      const stray = row[at] as number;
      if (stray !== 0) row[at] = renamed(messages, stray - 1, used) + 1;
    }
    for (let at = CLIENTS; at < row.length; at += 2) {
      row[at] = renamed(clients, row[at] as number, used);
      const slot = row[at + 1] as number;
      if (slot !== 0) row[at + 1] = slotOf(renamed(messages, messageIn(slot), used), ageIn(slot));
    }
  }

  /** Tenure ids count only where somebody may still show them. */
  private usedLabels(row: Int32Array): Used {
    const { groups, clients, messages } = this.cells;
    const used: Used = { versions: ALWAYS_USED, epochs: DEAD_EPOCHS, instances: 0 };
    const addMessage = (message: number): void => {
      used.versions |= messages.versions[message] as number;
      used.epochs |= messages.epochs[message] as number;
      used.instances |= messages.instances[message] as number;
    };
    const addGroup = (group: number): void => {
      used.versions |= groups.versions[group] as number;
      used.epochs |= groups.epochs[group] as number;
    };
    addGroup(row[GROUP] as number);
    if (row[SNAPSHOT] !== 0) addGroup((row[SNAPSHOT] as number) - 1);
    for (let at = STRAYS; at < STRAYS + MAX_STRAYS; at += 1) {
      if (row[at] !== 0) addMessage((row[at] as number) - 1);
    }
    for (let at = CLIENTS; at < row.length; at += 2) {
      const client = row[at] as number;
      used.versions |= clients.versions[client] as number;
      used.epochs |= clients.epochs[client] as number;
      used.instances |= clients.instances[client] as number;
      if (row[at + 1] !== 0) addMessage(messageIn(row[at + 1] as number));
    }
    return used;
  }
}

interface Used {
  versions: number;
  epochs: number;
  instances: number;
}

type Numbered = Cells['clients'] | Cells['messages'];

function settled(pool: Numbered, cell: number, versions: number, epochs: number): number {
  const reached = versions & ((2 << (pool.version[cell] as number)) - 1);
  return pool.settle(cell, 31 - Math.clz32(reached), epochs);
}

function renamed(pool: Numbered | Cells['groups'], cell: number, used: Used): number {
  const ranked = pool.rankEpochs(pool.rankVersions(cell, used.versions), used.epochs);
  return pool.rankInstances(ranked, used.instances);
}
