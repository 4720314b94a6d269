import { parseGroupKeyText, type GroupKey } from '../domain/ids';

export interface IndexPage {
  readonly keys: readonly GroupKey[];
  /** Pass it on for the next page; null: this was the last one. */
  readonly cursor: string | null;
}

/**
 * A page of an index, in the order of the group's names: the cursor is the name of the last group of the page, so groups that
 * come and go in between move no other group into or out of a page. Entries that name no group are skipped.
 */
export function pageOf(texts: readonly string[], cursor: string | null, limit: number): IndexPage {
  const rest = texts.filter((text) => cursor === null || text > cursor).sort();
  const keys: GroupKey[] = [];
  for (const [index, text] of rest.entries()) {
    const key = parseGroupKeyText(text);
    if (key !== null) keys.push(key);
    if (keys.length >= limit) return { keys, cursor: index + 1 < rest.length ? text : null };
  }
  return { keys, cursor: null };
}
