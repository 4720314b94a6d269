import type { GroupCommand, GroupState } from '../domain/coordinator/decision';
import { hasGoneBack } from '../domain/correction/evidence';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { PendingCommand } from './pending-command';
import type { HeldLock } from './redis-lock';
import { MetadataCorruptError } from './section-errors';

/** What the group is after a read that holds its lock. */
export function lockedState(loaded: HeldLock['loaded']): GroupState {
  return loaded.kind === 'LOADED'
    ? { metadata: loaded.metadata, leases: loaded.leases }
    : { metadata: null, leases: new Map() };
}

/** A corrupt group is missing to the command that replaces it, and to no other. */
export function commandOn(
  loaded: HeldLock['loaded'],
  text: string,
  pending: PendingCommand,
): GroupCommand<unknown> {
  const { command } = pending;
  if (loaded.kind !== 'CORRUPT' || replacesCorrupt(pending)) return command;
  const refuse = (): never => {
    throw new MetadataCorruptError(text, loaded.reason);
  };
  return { name: command.name, decide: refuse };
}

export function replacesCorrupt({ options }: PendingCommand): boolean {
  return options.replacesCorrupt === true;
}

/**
 * Whether Redis held `known` before, and lost it since. A group that is missing may have been deleted by another coordinator:
 * either way its members may read for a lease more, which whoever creates it anew has to know.
 */
export function isRegression(known: GroupMetadata | null, loaded: GroupMetadata | null): boolean {
  return loaded === null ? known !== null : hasGoneBack(loaded, known);
}
