/** The contract's deepest body has four levels. What nests deeper is refused before anything walks through it. */
export const MAX_BODY_DEPTH = 32;

/** Whether a JSON value has more than `depth` levels of lists and objects. Never goes deeper than that itself. */
export function nestsDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const child of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
    if (nestsDeeperThan(child, depth - 1)) return true;
  }
  return false;
}
