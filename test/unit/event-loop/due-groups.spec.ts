import { describe, expect, it } from '@jest/globals';
import { SectionQueueFullError } from '../../../src/critical-section/section-errors';
import { CoordinatorTerminatingError } from '../../../src/critical-section/section-errors';
import type { TickReply } from '../../../src/domain/coordinator/on-tick';
import { onTick } from '../../../src/domain/coordinator/on-tick';
import { groupKeyText } from '../../../src/domain/ids';
import type { EpochMillis } from '../../../src/domain/time';
import { DueGroups, type DueGroup } from '../../../src/event-loop/due-groups';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import { StoreError } from '../../../src/store/metadata-store';
import { groupKey } from '../../flow/critical-section/section-world';

const NOW = 1_000_000 as EpochMillis;

function dueGroups(count: number): DueGroup[] {
  return Array.from({ length: count }, (_, index) => ({
    key: groupKey('orders', `g${index}`),
    dueMs: (NOW - 10) as EpochMillis,
  }));
}

/** A loop whose looks end as `lookAt` says; records what it did to the index. */
function loop(lookAt: (name: string) => TickReply | Promise<TickReply>) {
  const looked: string[] = [];
  const postponed = new Map<string, readonly [seen: number, next: number]>();
  const indexed = new Map<string, number>();
  const failures: string[] = [];
  const parts: ConstructorParameters<typeof DueGroups>[0] = {
    section: {
      run: async (key) => {
        looked.push(key.consumerGroup);
        const reply: unknown = await lookAt(key.consumerGroup);
        return { reply: reply as never, effects: [], state: { metadata: null, leases: new Map() } };
      },
    },
    effects: { carryOut: async (_key, { state }) => state },
    index: {
      postpone: async (key, seen, next) => void postponed.set(key.consumerGroup, [seen, next]),
    },
    confirmed: { setIndexedDue: (text, dueMs) => void indexed.set(text, dueMs) },
    timing: DEFAULT_TIMING,
    faults: { report: (kind) => failures.push(kind) },
    metrics: {
      loopGroupFailed: (code) => failures.push(code),
      loopGroupMissing: () => failures.push('MISSING'),
    },
    tickCommand: onTick,
  };
  return { due: new DueGroups(parts), looked, postponed, indexed, failures };
}

const next = (inMs: number): TickReply => ({ kind: 'LOOKED', nextDueMs: (NOW + inMs) as EpochMillis });
const timeout = () => new StoreError('lock', 'TIMEOUT', true, { cause: null });

describe('the look at due groups', () => {
  it('notes when to look again, with the due time that it saw', async () => {
    const { due, postponed, indexed } = loop(() => next(4_000));
    await due.lookAt(dueGroups(1), NOW);
    expect(postponed.get('g0')).toEqual([NOW - 10, NOW + 4_000]);
    expect(indexed.get(groupKeyText(groupKey('orders', 'g0')))).toBe(NOW + 4_000);
  });

  it('looks again within one lease at the latest', async () => {
    const { due, postponed } = loop(() => next(600_000));
    await due.lookAt(dueGroups(1), NOW);
    expect(postponed.get('g0')?.[1]).toBe(NOW + DEFAULT_TIMING.memberLeaseTtlMs);
  });

  it('does not put a phantom back into the index', async () => {
    const { due, postponed } = loop(() => ({ kind: 'MISSING' }));
    await due.lookAt(dueGroups(1), NOW);
    expect(postponed.size).toBe(0);
  });

  it('is not stopped by one bad group, which is tried again two ticks later', async () => {
    const { due, looked, postponed, failures } = loop((name) => {
      if (name === 'g1') throw Object.assign(new Error('bad JSON'), { code: 'METADATA_CORRUPT' });
      return next(4_000);
    });
    await due.lookAt(dueGroups(3), NOW);
    expect(looked).toHaveLength(3);
    expect(postponed.get('g1')).toEqual([NOW - 10, NOW + 2_000]);
    expect(postponed.get('g2')?.[1]).toBe(NOW + 4_000);
    expect(failures).toEqual(['METADATA_CORRUPT', 'event-loop:METADATA_CORRUPT']);
  });

  it('counts and reports a group that the index names and that is gone', async () => {
    const { due, failures, postponed } = loop(() => ({ kind: 'MISSING' }));
    await due.lookAt(dueGroups(1), NOW);
    expect(failures).toEqual(['MISSING', 'event-loop:METADATA_MISSING']);
    expect(postponed.size).toBe(0);
  });

  it('counts an error without a code as unexpected', async () => {
    const { due, failures } = loop(() => Promise.reject(new Error('defect')));
    await due.lookAt(dueGroups(1), NOW);
    expect(failures).toEqual(['INTERNAL_ERROR', 'event-loop:INTERNAL_ERROR']);
  });

  it('has at most eight under way, and gets to all', async () => {
    let underWay = 0;
    let most = 0;
    const { due, looked } = loop(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return next(4_000);
    });
    await due.lookAt(dueGroups(50), NOW);
    expect(most).toBe(8);
    expect(new Set(looked).size).toBe(50);
  });

  it('ends early when Redis cannot be asked: the rest stays due', async () => {
    const { due, looked, postponed } = loop(() => Promise.reject(timeout()));
    await due.lookAt(dueGroups(100), NOW);
    expect(looked.length).toBeLessThanOrEqual(8);
    expect(postponed.size).toBe(0);
  });

  it('ends early and silently at termination', async () => {
    const { due, looked, failures } = loop(() => Promise.reject(new CoordinatorTerminatingError()));
    await due.lookAt(dueGroups(100), NOW);
    expect(looked.length).toBeLessThanOrEqual(8);
    expect(failures).toEqual([]);
  });

  it('goes on past a group whose queue is full', async () => {
    const { due, looked } = loop(() => Promise.reject(new SectionQueueFullError('GROUP')));
    await due.lookAt(dueGroups(20), NOW);
    expect(looked).toHaveLength(20);
  });
});
