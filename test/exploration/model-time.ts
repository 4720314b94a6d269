/**
 * The clock of the explored worlds. It is always NOW: a step of the clock brings every recorded instant one step nearer, so that
 * two states which differ only in when they happen are the same state. Instants that are over stay at NOW.
 */
export const NOW = 1_000;
export const STEP = 1;
