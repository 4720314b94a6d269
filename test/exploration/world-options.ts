/** How often each fault may happen in one history. */
export interface Budget {
  /** A request or an answer that is lost, or waited for in vain: also a coordinator that dies before or after its write. */
  readonly losses: number;
  /** A request that is delivered and stays under way, to be delivered again at any later time. */
  readonly duplicates: number;
  /** A process dies and comes back without memory, under the same member id. */
  readonly restarts: number;
  /** A member that is asked to stop. No fault, and just as untimely. */
  readonly leaves: number;
  /** Redis goes back to any earlier write of the history, under another id. */
  readonly rollbacks: number;
}

export interface WorldOptions {
  readonly name: string;
  /** One process each. Two of the same name are two processes with one member id. */
  readonly members: readonly string[];
  /** Processes that send only the base fields, by position. */
  readonly baseClients: readonly number[];
  /** Whether base clients may leave out what they read. */
  readonly mayOmitLists: boolean;
  readonly shardCount: number;
  /** In steps of the clock. */
  readonly leaseSteps: number;
  readonly drainSteps: number;
  /** Whether a request may arrive after the lease of its sender has ended, without that counting as a fault. */
  readonly hasLateRequests: boolean;
  readonly budget: Budget;
}

export const NO_FAULTS: Budget = { losses: 0, duplicates: 0, restarts: 0, leaves: 0, rollbacks: 0 };

const BITS_PER_FAULT = 2;
const ONE: Readonly<Record<keyof Budget, number>> = {
  losses: 1,
  duplicates: 1 << BITS_PER_FAULT,
  restarts: 1 << (2 * BITS_PER_FAULT),
  leaves: 1 << (3 * BITS_PER_FAULT),
  rollbacks: 1 << (4 * BITS_PER_FAULT),
};

/** A budget as one number, so that a state can be a row of integers. */
export function packBudget(budget: Budget): number {
  let packed = 0;
  for (const fault of Object.keys(ONE) as (keyof Budget)[]) packed += ONE[fault] * budget[fault];
  return packed;
}

export function hasLeft(packed: number, fault: keyof Budget): boolean {
  return (packed & (ONE[fault] * ((1 << BITS_PER_FAULT) - 1))) !== 0;
}

export function spend(packed: number, fault: keyof Budget): number {
  return packed - ONE[fault];
}
