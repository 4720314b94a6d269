import type { ErrorDetail } from '../../protocol';

/** A body can break thousands of rules; a client needs the first few. */
const MAX_REPORTED_DETAILS = 20;

/** `['ownedShards', '3', 'shardIndex']` -> `ownedShards[3].shardIndex`. No field of the contract has a numeric name. */
export function fieldPath(segments: readonly string[]): string {
  return segments.reduce((path, segment) => {
    if (/^\d+$/.test(segment)) return `${path}[${segment}]`;
    return path === '' ? segment : `${path}.${segment}`;
  }, '');
}

/** One detail per field, and none below a field that is itself reported. */
export function distinctDetails(details: readonly ErrorDetail[]): ErrorDetail[] {
  const byField = new Map<string, ErrorDetail>();
  for (const detail of details) {
    if (!byField.has(detail.field)) byField.set(detail.field, detail);
  }
  return [...byField.values()].filter(
    (detail) => !ancestorsOf(detail.field).some((field) => byField.has(field)),
  );
}

export function reportedDetails(details: readonly ErrorDetail[]): readonly ErrorDetail[] {
  return details.slice(0, MAX_REPORTED_DETAILS);
}

function ancestorsOf(field: string): string[] {
  const ends = [...field.matchAll(/[.[]/g)].map((match) => match.index);
  return ends.map((end) => field.slice(0, end));
}
