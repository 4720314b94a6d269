/**
 * Where the parts of a state lie in its row. A client's slot holds the request or answer that it waits for: 0 when it waits for
 * none, else the message cell + 1, times AGES, plus the age of the request in steps (it stops counting at the lease). Strays are
 * requests under way whose answers nobody waits for: cell + 1, ascending from the end, 0 where there is none.
 */
export const GROUP = 0;
/** What Redis goes back to, group cell + 1; 0: it does not, or not yet. */
export const SNAPSHOT = 1;
export const BUDGET = 2;
/** Which Redis answers: a number that a rollback counts up. */
export const REDIS = 3;
export const STRAYS = 4;
export const MAX_STRAYS = 6;
export const CLIENTS = STRAYS + MAX_STRAYS;
export const AGES = 8;

export function widthFor(clientCount: number): number {
  return CLIENTS + 2 * clientCount;
}

export function clientAt(position: number): number {
  return CLIENTS + 2 * position;
}

export function slotAt(position: number): number {
  return CLIENTS + 2 * position + 1;
}

export function slotOf(message: number, ageSteps: number): number {
  return (message + 1) * AGES + ageSteps;
}

export function messageIn(slot: number): number {
  return Math.floor(slot / AGES) - 1;
}

export function ageIn(slot: number): number {
  return slot % AGES;
}
