import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface LogEvent {
  readonly kind: 'handled' | 'assigned' | 'revoked' | 'alive';
  readonly at: number;
  readonly shard?: number;
  readonly id?: string;
  readonly row?: number;
  readonly delivery?: number;
  readonly member?: string;
}

interface Verdict {
  readonly ok: boolean;
  readonly broken: readonly string[];
  readonly published: number;
  readonly handled: number;
  readonly handledTwice: number;
  readonly lost: readonly string[];
  readonly outOfOrder: readonly string[];
  readonly overlaps: readonly string[];
  readonly unread: readonly { shard: number; readers: number; totalMs: number; longestMs: number }[];
}

type Logs = Readonly<Record<string, readonly LogEvent[] | string>>;

/** Runs the module as the demo does: on log files, in a process of its own (it is an ES module). */
function judge(keys: readonly string[], logs: Logs): Verdict {
  const folder = mkdtempSync(join(tmpdir(), 'verdict-'));
  try {
    const files = Object.entries(logs).map(([name, log]) => {
      const file = join(folder, `${name}.jsonl`);
      writeFileSync(file, typeof log === 'string' ? log : textOf(log));
      return [name, file];
    });
    const module = join(__dirname, '..', '..', 'scripts', 'demo', 'verdict.mjs');
    const script = `
      const { judge, readLog } = await import(${JSON.stringify(module)});
      const [keys, files] = ${JSON.stringify([keys, files])};
      console.log(JSON.stringify(judge(keys, files.map(([name, file]) => readLog(name, file)))));`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(run.stderr);
    return JSON.parse(run.stdout) as Verdict;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const textOf = (events: readonly LogEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');
const handled = (at: number, row: number, delivery = 1): LogEvent => ({
  ...{ kind: 'handled', at, shard: 0, id: `${row}-0`, row, delivery },
});
const assigned = (at: number, shard = 0, member = 'm0'): LogEvent => ({
  kind: 'assigned',
  at,
  shard,
  member,
});
const revoked = (at: number, shard = 0, member = 'm0'): LogEvent => ({ kind: 'revoked', at, shard, member });
const alive = (at: number): LogEvent => ({ kind: 'alive', at });

const KEYS = ['ORD', 'DFW', 'ORD', 'DFW'];

/** Two rows by ann, who is killed with the second unacknowledged, and the rest by bob, to whom it comes again. */
const GOOD: Readonly<Record<string, readonly LogEvent[]>> = {
  ann: [assigned(1_000), handled(2_000, 0), handled(3_000, 1), alive(4_000)],
  bob: [assigned(9_000), handled(10_000, 1, 2), handled(11_000, 2), handled(12_000, 3), revoked(13_000)],
};

describe('the verdict of the demo', () => {
  it('finds nothing wrong where every promise held, a repetition after a death included', () => {
    expect(judge(KEYS, GOOD)).toMatchObject({
      ok: true,
      broken: [],
      published: 4,
      handled: 4,
      handledTwice: 1,
      lost: [],
      outOfOrder: [],
      overlaps: [],
    });
  });

  it('measures how long nobody read a shard, from the last sign of life of who was killed', () => {
    const { unread } = judge(KEYS, { ...GOOD, cal: [assigned(15_000), revoked(20_000)] });
    expect(unread).toEqual([{ shard: 0, readers: 3, totalMs: 7, longestMs: 5 }]);
  });

  it('finds an entry that was never handled', () => {
    const verdict = judge(KEYS, { ...GOOD, bob: GOOD['bob']!.filter(({ row }) => row !== 2) });
    expect(verdict).toMatchObject({ ok: false, lost: ['row 2 of ORD'] });
    expect(verdict.broken).toHaveLength(1);
  });

  it('finds that nothing at all was handled', () => {
    expect(judge(KEYS, { ann: [alive(1)], bob: '' })).toMatchObject({ ok: false, handled: 0 });
  });

  it('finds the rows of a key in the wrong order within a process', () => {
    const bob = [handled(5, 2), handled(6, 0), handled(7, 1), handled(8, 3)];
    expect(judge(KEYS, { bob })).toMatchObject({ ok: false });
    expect(judge(KEYS, { bob }).outOfOrder[0]).toContain('row 0 of ORD after row 2');
  });

  it('finds the rows of a key in the wrong order across processes, even where each came again', () => {
    const verdict = judge(KEYS, {
      ann: [handled(5, 2, 2), handled(6, 1)],
      bob: [handled(7, 0, 3), handled(8, 3)],
    });
    expect(verdict.outOfOrder).toEqual(['row 0 of ORD after row 2 in bob']);
  });

  it('allows rows of different keys in any order', () => {
    expect(judge(KEYS, { ann: [handled(1, 1), handled(2, 0), handled(3, 3), handled(4, 2)] }).ok).toBe(true);
  });

  it('finds a repetition of what was delivered once', () => {
    const verdict = judge(KEYS, { ...GOOD, bob: GOOD['bob']!.map((event) => ({ ...event, delivery: 1 })) });
    expect(verdict.broken).toEqual([expect.stringContaining('without having been delivered again')]);
  });

  it('allows a row that was published twice, as two entries, behind its first', () => {
    const again = { ...handled(14_000, 3), id: '99-0' };
    const verdict = judge(KEYS, { ...GOOD, cal: [assigned(13_500), again, revoked(15_000)] });
    expect(verdict).toMatchObject({ ok: true, handledTwice: 2 });
  });

  it('finds a process that goes back in a key without redelivery', () => {
    const again = { ...handled(12_500, 0), id: '99-0' };
    const verdict = judge(KEYS, { ...GOOD, bob: [...GOOD['bob']!.slice(0, 4), again] });
    expect(verdict.outOfOrder).toEqual([expect.stringContaining('row 0 of ORD')]);
  });

  it('finds two readers of a shard at once, also where one of them was killed', () => {
    const late = {
      ...GOOD,
      bob: GOOD['bob']!.map((event, index) => (index === 0 ? assigned(3_500) : event)),
    };
    expect(judge(KEYS, late).overlaps).toEqual(['shard 0 by ann/m0 and bob/m0']);
    const inOneProcess = [
      assigned(1, 7, 'm0'),
      assigned(2, 7, 'm1'),
      revoked(3, 7, 'm0'),
      revoked(4, 7, 'm1'),
    ];
    expect(judge(KEYS, { ...GOOD, cal: inOneProcess }).overlaps).toEqual(['shard 7 by cal/m0 and cal/m1']);
  });

  it('finds the overlap with a reader that outlives several others', () => {
    const ann = [assigned(1, 5), revoked(100, 5)];
    const bob = [assigned(10, 5), revoked(20, 5)];
    const cal = [assigned(50, 5), revoked(60, 5)];
    const rows = KEYS.map((_, row) => handled(200 + row, row));
    expect(judge(KEYS, { ann: [...ann, ...rows], bob, cal }).overlaps).toHaveLength(2);
  });

  it('allows readers of different shards at once', () => {
    const rows = KEYS.map((_, row) => handled(50 + row, row));
    const verdict = judge(KEYS, {
      ann: [assigned(1, 0), assigned(1, 1), ...rows, revoked(90, 0), revoked(90, 1)],
    });
    expect(verdict).toMatchObject({ ok: true, overlaps: [] });
  });

  it('finds what is not in the input', () => {
    expect(judge(KEYS, { ...GOOD, cal: [handled(14_000, 4)] }).broken).toEqual([
      expect.stringContaining('not in the input'),
    ]);
  });

  it('reads a log whose last line was torn by a kill, and refuses one that is torn elsewhere', () => {
    expect(judge(KEYS, { ...GOOD, cal: `${textOf([alive(14_000)])}{"kind":"hand` }).ok).toBe(true);
    expect(() => judge(KEYS, { cal: `{"kind":"hand\n${textOf([alive(1)])}` })).toThrow('is torn');
  });
});
