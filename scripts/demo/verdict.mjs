// The judge of the demo. It believes two things only: the input file, and what the consumer processes wrote down, one JSON
// line each, while they ran. No counter of the SDK and nothing that the runner saw goes in here.
//
// Lines of a consumer process (times are microseconds of the machine's monotonic clock, so that processes compare):
//   {"kind":"handled","at":1,"shard":0,"id":"1-0","row":17,"delivery":1}   the handler has done its work for this entry
//   {"kind":"assigned","at":1,"shard":0,"member":"a-m0"}                   the process reads this shard from now on
//   {"kind":"revoked","at":1,"shard":0,"member":"a-m0"}                    ... and no more
//   {"kind":"alive","at":1}                                                a sign of life
import { readFileSync } from 'node:fs';

const EXAMPLES = 3;

/** The lines of one log. The last line may be torn: its process was killed while it wrote. */
export function readLog(processName, file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  const events = [];
  for (const [index, line] of lines.entries()) {
    if (line === '') continue;
    try {
      events.push(JSON.parse(line));
    } catch (error) {
      if (index < lines.length - 1) throw new Error(`${file}, line ${index + 1} is torn`, { cause: error });
    }
  }
  return { processName, events };
}

/**
 * Judges a run. `keys` is the partition key of every input row, by row number; every row was to be published once, in this
 * order. `logs` are those of all consumer processes that ever ran.
 */
export function judge(keys, logs) {
  const handlings = logs
    .flatMap(({ processName, events }) =>
      events.filter(({ kind }) => kind === 'handled').map((event) => ({ ...event, processName })),
    )
    .sort((a, b) => a.at - b.at);
  const entries = judgeEntries(keys, handlings);
  const readers = judgeReaders(logs);
  const broken = [
    ...fault('lost: published and never handled', entries.lost),
    ...fault('handled, and not in the input', entries.unknown),
    ...fault('out of order for their key', entries.outOfOrder),
    ...fault('handled twice without having been delivered again', entries.repeatedWithoutRedelivery),
    ...fault('read by two at once', readers.overlaps),
  ];
  return { ok: broken.length === 0, broken, published: keys.length, ...entries, ...readers };
}

function fault(what, found) {
  if (found.length === 0) return [];
  const more = found.length > EXAMPLES ? ', ...' : '';
  return [`${found.length} ${what} (${found.slice(0, EXAMPLES).join('; ')}${more})`];
}

/**
 * At least once, in order: the first handlings of a key come in the order of publishing, and no process goes back within the
 * rows of a key except to repeat what was delivered again.
 */
function judgeEntries(keys, handlings) {
  const timesOf = new Map();
  const idsOf = new Map();
  const lastFirstOf = new Map();
  const unknown = [];
  const outOfOrder = [];
  const repeatedWithoutRedelivery = [];
  for (const { row, id, delivery, processName } of handlings) {
    const key = keys[row];
    if (key === undefined) {
      unknown.push(`row ${row}`);
      continue;
    }
    const times = timesOf.get(row) ?? 0;
    timesOf.set(row, times + 1);
    if (times > 0) {
      const isSameEntry = idsOf.get(row).has(id);
      if (isSameEntry && !(delivery > 1)) repeatedWithoutRedelivery.push(`row ${row} in ${processName}`);
      idsOf.get(row).add(id);
      continue;
    }
    idsOf.set(row, new Set([id]));
    const lastFirst = lastFirstOf.get(key) ?? -1;
    if (row < lastFirst) outOfOrder.push(`row ${row} of ${key} after row ${lastFirst} in ${processName}`);
    else lastFirstOf.set(key, row);
  }
  outOfOrder.push(...backwardWithinProcess(keys, handlings));
  const lost = keys.flatMap((key, row) => (timesOf.has(row) ? [] : [`row ${row} of ${key}`]));
  const twice = [...timesOf.values()].filter((times) => times > 1).length;
  return { handled: timesOf.size, handledTwice: twice, lost, unknown, outOfOrder, repeatedWithoutRedelivery };
}

/** A process that repeats a key's rows repeats them in order, too. */
function backwardWithinProcess(keys, handlings) {
  const found = [];
  const lastOf = new Map();
  for (const { row, id, delivery, processName } of handlings) {
    const place = `${processName} ${keys[row]}`;
    const last = lastOf.get(place);
    const wentBack = last !== undefined && row < last.row;
    // Going back is a repetition by redelivery, or it is not allowed.
    if (wentBack && !(delivery > 1))
      found.push(`row ${row} of ${keys[row]} (${id}) behind row ${last.row} in ${processName}`);
    lastOf.set(place, { row });
  }
  return found;
}

/** When which process read which shard: never two at once, and how long nobody did. */
function judgeReaders(logs) {
  const intervalsOf = new Map();
  for (const interval of logs.flatMap(readingIntervals)) {
    const known = intervalsOf.get(interval.shard) ?? [];
    intervalsOf.set(interval.shard, [...known, interval]);
  }
  const overlaps = [];
  const unread = [];
  for (const [shard, intervals] of [...intervalsOf].sort(([a], [b]) => a - b)) {
    intervals.sort((a, b) => a.from - b.from);
    const gap = { shard, readers: intervals.length, totalMs: 0, longestMs: 0 };
    let last = null;
    for (const interval of intervals) {
      if (last !== null && interval.from < last.to) {
        overlaps.push(`shard ${shard} by ${last.reader} and ${interval.reader}`);
      } else if (last !== null) {
        const lengthMs = (interval.from - last.to) / 1_000;
        gap.totalMs += lengthMs;
        gap.longestMs = Math.max(gap.longestMs, lengthMs);
      }
      if (last === null || interval.to > last.to) last = interval;
    }
    unread.push(gap);
  }
  return { overlaps, unread };
}

/** A reader that was killed wrote no end: its last sign of life is it. */
function readingIntervals({ processName, events }) {
  const intervals = [];
  const open = new Map();
  const lastSign = events.at(-1)?.at ?? 0;
  for (const { kind, at, shard, member } of events) {
    const place = `${shard} ${member}`;
    if (kind === 'assigned') {
      const interval = { shard, from: at, to: lastSign, reader: `${processName}/${member}` };
      intervals.push(interval);
      open.set(place, interval);
    } else if (kind === 'revoked' && open.has(place)) {
      open.get(place).to = at;
      open.delete(place);
    }
  }
  return intervals;
}
