import type { LogLine } from '../support/coordinator-process';

/** Of each kind of fault at most one line in this time. */
const QUIET_MS = 10_000;
/** Between the decision to write a line and its time stamp a busy process may stand still. */
const STAMP_MARGIN_MS = 1_000;

export function troubleLines(log: readonly LogLine[]): readonly LogLine[] {
  return log.filter(({ level }) => level === 'warn' || level === 'error' || level === 'fatal');
}

/** Lines of a kind of fault that came within 10 s of the one before. */
export function repeatedLines(log: readonly LogLine[]): readonly LogLine[] {
  const lastMs = new Map<string, number>();
  return troubleLines(log).filter((line) => {
    const kind = JSON.stringify([line['context'], line['kind'] ?? line['fault'] ?? line['message']]);
    const atMs = Date.parse(String(line['time']));
    const isRepeated = atMs - (lastMs.get(kind) ?? -Infinity) < QUIET_MS - STAMP_MARGIN_MS;
    lastMs.set(kind, atMs);
    return isRepeated;
  });
}
