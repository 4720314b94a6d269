import { expect } from '@jest/globals';
import type { ConsumerGroup } from '../../src/domain/ids';
import { epochMillis } from '../../src/domain/time';
import { freshKey, groupOf, leasesOf } from './group-fixtures';
import { create, LEASE_TTL_MS, type ContractCheck, type StoreHarness } from './store-harness';

const OUTAGE_AFTER_MS = 7_500;

async function pass(
  harness: StoreHarness,
  parts: { clockJumped?: boolean; hasPassed?: boolean; limit?: number; outageAfterMs?: number } = {},
) {
  return harness.loop.pass({
    coordinatorId: 'coordinator-1',
    outageAfterMs: OUTAGE_AFTER_MS,
    leaseTtlMs: LEASE_TTL_MS,
    clockJumped: false,
    hasPassed: false,
    limit: 100,
    ...parts,
  });
}

const INDEX_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'brings a due time forward, never back',
    run: async ({ index, dueOf }) => {
      const key = freshKey();
      await index.bringForward(key, epochMillis(5_000));
      await index.bringForward(key, epochMillis(7_000));
      expect(await dueOf(key)).toBe(5_000);
      await index.bringForward(key, epochMillis(3_000));
      expect(await dueOf(key)).toBe(3_000);
    },
  },
  {
    promise: 'postpones what was seen, and nothing that was brought forward meanwhile',
    run: async ({ index, dueOf }) => {
      const key = freshKey();
      await index.bringForward(key, epochMillis(5_000));
      await index.postpone(key, epochMillis(5_000), epochMillis(9_000));
      expect(await dueOf(key)).toBe(9_000);
      await index.bringForward(key, epochMillis(4_000));
      await index.postpone(key, epochMillis(9_000), epochMillis(20_000));
      expect(await dueOf(key)).toBe(4_000);
    },
  },
  {
    promise: 'adds an entry that is missing when it is postponed, and removes one',
    run: async ({ index, dueOf }) => {
      const key = freshKey();
      await index.postpone(key, epochMillis(1), epochMillis(1_234));
      expect(await dueOf(key)).toBe(1_234);
      await index.remove(key);
      await index.remove(key);
      expect(await dueOf(key)).toBeNull();
    },
  },
  {
    promise: 'lists every group once, in order of their names, by pages, without foreign entries',
    run: async ({ index, addIndexEntry }) => {
      const keys = Array.from({ length: 7 }, freshKey);
      for (const [position, key] of keys.entries())
        await index.bringForward(key, epochMillis(100 - position));
      await addIndexEntry('no group', 1);
      const seen: string[] = [];
      let cursor: string | null = null;
      for (let page = 0; page < 10; page += 1) {
        const listed: Awaited<ReturnType<typeof index.list>> = await index.list(cursor, 3);
        expect(listed.keys.length).toBeLessThanOrEqual(3);
        seen.push(...listed.keys.map(({ streamPrefix }) => streamPrefix));
        cursor = listed.cursor;
        if (cursor === null) break;
      }
      expect(cursor).toBeNull();
      expect(seen).toEqual(keys.map(({ streamPrefix }) => streamPrefix).sort());
    },
  },
  {
    promise: 'is rebuilt from the metadata, due at once, and keeps the due times that it has',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const groups = [1, 2, 3].map(() => groupOf(freshKey(), [], nowMs));
      for (const group of groups) await create(harness, group, leasesOf([], 0));
      await harness.dropIndex();
      await harness.index.bringForward(groups[0]!, epochMillis(nowMs + 5_000));
      expect(await harness.index.repair()).toBe(2);
      expect(await harness.index.repair()).toBe(0);
      expect(await harness.dueOf(groups[0]!)).toBe(nowMs + 5_000);
      expect(await harness.dueOf(groups[1]!)).toBeLessThanOrEqual(nowMs);
    },
  },
  {
    promise: 'is rebuilt when something else lies in its place, with the groups that cannot be read',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const groups = [1, 2].map(() => groupOf(freshKey(), [], nowMs));
      for (const group of groups) await create(harness, group, leasesOf([], 0));
      await harness.tamper(groups[0]!, 'aggregate', '{');
      await harness.misplace(groups[1]!);
      await harness.misplaceIndex();
      expect(await harness.index.repair()).toBe(2);
      const { keys } = await harness.index.list(null, 10);
      expect(keys.map(({ streamPrefix }) => streamPrefix)).toEqual(
        groups.map(({ streamPrefix }) => streamPrefix).sort(),
      );
    },
  },
];

const LOOP_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'returns the groups that are due, earliest first, at most so many, and no foreign entry',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const [first, second, third, later] = [freshKey(), freshKey(), freshKey(), freshKey()];
      await harness.index.bringForward(third, epochMillis(nowMs - 10));
      await harness.index.bringForward(first, epochMillis(nowMs - 30));
      await harness.index.bringForward(second, epochMillis(nowMs - 20));
      await harness.index.bringForward(later, epochMillis(nowMs + 60_000));
      expect((await pass(harness, { limit: 2 })).due).toEqual([
        { key: first, dueMs: nowMs - 30 },
        { key: second, dueMs: nowMs - 20 },
      ]);
      await harness.addIndexEntry('no group', 1);
      expect((await pass(harness)).due.map(({ key }) => key)).toEqual([first, second, third]);
      expect((await pass(harness, { limit: 0 })).due).toEqual([]);
    },
  },
  {
    promise: 'starts a quiet period with the first pass, and none with the next',
    run: async (harness) => {
      const first = await pass(harness);
      expect(first.quiet).toEqual({
        causedAtMs: first.redisNowMs,
        untilMs: first.redisNowMs + LEASE_TTL_MS,
      });
      await harness.passTime(2);
      expect((await pass(harness)).quiet).toEqual(first.quiet);
    },
  },
  {
    promise: 'starts a quiet period after an outage, and not a moment before it counts as one',
    run: async (harness) => {
      const first = await pass(harness);
      await harness.passTime(25);
      const second = await pass(harness, { outageAfterMs: 10_000 });
      expect(second.quiet).toEqual(first.quiet);
      await harness.passTime(25);
      const third = await pass(harness, { outageAfterMs: 20 });
      expect(third.quiet?.causedAtMs).toBe(third.redisNowMs);
    },
  },
  {
    promise: 'starts a quiet period when the caller saw the clock jump',
    run: async (harness) => {
      await pass(harness);
      await harness.passTime(2);
      const jumped = await pass(harness, { clockJumped: true });
      expect(jumped.quiet?.causedAtMs).toBe(jumped.redisNowMs);
    },
  },
  {
    promise: 'starts a quiet period and tells of a loss when the last pass was on another Redis',
    run: async (harness) => {
      await pass(harness);
      expect(await harness.loop.lossSeen()).toEqual({ isRecordMissing: false, untilMs: null });
      await harness.passTime(2);
      await harness.setLastRedis('another');
      const after = await pass(harness, { hasPassed: true });
      expect(after.quiet?.causedAtMs).toBe(after.redisNowMs);
      const untilMs = after.redisNowMs + LEASE_TTL_MS;
      expect(await harness.loop.lossSeen()).toEqual({ isRecordMissing: false, untilMs });
      await pass(harness, { hasPassed: true });
      expect(await harness.loop.lossSeen()).toEqual({ isRecordMissing: false, untilMs });
    },
  },
  {
    promise:
      'tells of a loss when the record of passes is gone, but of none to who passes for the first time',
    run: async (harness) => {
      expect(await harness.loop.lossSeen()).toEqual({ isRecordMissing: true, untilMs: null });
      const { redisNowMs } = await pass(harness, { hasPassed: true });
      const untilMs = redisNowMs + LEASE_TTL_MS;
      expect(await harness.loop.lossSeen()).toEqual({ isRecordMissing: false, untilMs });
    },
  },
  {
    promise: 'starts a quiet period when the last pass lies in the future, and keeps none there',
    run: async (harness) => {
      await pass(harness);
      await harness.setLastPass((await harness.nowMs()) + 3_600_000);
      await harness.passTime(2);
      const after = await pass(harness);
      expect(after.quiet?.causedAtMs).toBe(after.redisNowMs);
      await harness.passTime(2);
      expect((await pass(harness)).quiet).toEqual(after.quiet);
    },
  },
];

const STREAM_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'keeps the record of a stream by compare-and-set',
    run: async ({ registry }) => {
      const { streamPrefix } = freshKey();
      expect(await registry.load(streamPrefix)).toBeNull();
      expect(await registry.save(streamPrefix, null, { shardCount: 4, consumerGroups: ['a'] })).toBe(true);
      const first = await registry.load(streamPrefix);
      expect(first).toMatchObject({ shardCount: 4, consumerGroups: ['a'] });
      expect(await registry.save(streamPrefix, null, { shardCount: 8, consumerGroups: ['b'] })).toBe(false);
      const base = first?.revision ?? 0;
      expect(await registry.save(streamPrefix, base, { shardCount: 4, consumerGroups: ['a', 'b'] })).toBe(
        true,
      );
      expect(await registry.save(streamPrefix, base, { shardCount: 4, consumerGroups: ['a', 'c'] })).toBe(
        false,
      );
      const second = await registry.load(streamPrefix);
      expect(second).toMatchObject({ consumerGroups: ['a', 'b'] });
      expect(second?.revision).toBeGreaterThan(base);
    },
  },
  {
    promise: 'removes the record of a stream with its last group, and repeats no revision after that',
    run: async ({ registry, passTime }) => {
      const { streamPrefix } = freshKey();
      await registry.save(streamPrefix, null, { shardCount: 4, consumerGroups: ['a'] });
      const base = (await registry.load(streamPrefix))?.revision ?? 0;
      await passTime(2);
      expect(await registry.save(streamPrefix, base, { shardCount: 4, consumerGroups: [] })).toBe(true);
      expect(await registry.load(streamPrefix)).toBeNull();
      expect(await registry.save(streamPrefix, base, { shardCount: 4, consumerGroups: ['a'] })).toBe(false);
      await registry.save(streamPrefix, null, { shardCount: 4, consumerGroups: ['a'] });
      expect((await registry.load(streamPrefix))?.revision).toBeGreaterThan(base);
    },
  },
  {
    promise: 'keeps the record of a stream as long as it remembers the former life of a group',
    run: async ({ registry }) => {
      const { streamPrefix } = freshKey();
      const formerLives = new Map([['a', epochMillis(1_700_000_000_000)]]);
      await registry.save(streamPrefix, null, { shardCount: 4, consumerGroups: ['a'] });
      const first = await registry.load(streamPrefix);
      expect(first?.formerLives).toEqual(new Map());
      await registry.save(streamPrefix, first?.revision ?? 0, {
        shardCount: 4,
        consumerGroups: [],
        formerLives,
      });
      const second = await registry.load(streamPrefix);
      expect(second).toMatchObject({ consumerGroups: [], formerLives });
      expect(
        await registry.save(streamPrefix, second?.revision ?? 0, { shardCount: 4, consumerGroups: [] }),
      ).toBe(true);
      expect(await registry.load(streamPrefix)).toBeNull();
    },
  },
  {
    promise: 'creates and removes streams as often as it is asked',
    run: async ({ provisioner }) => {
      const prefix = freshKey().streamPrefix;
      const group = 'billing' as ConsumerGroup;
      await provisioner.provision(prefix, 3, group);
      await provisioner.provision(prefix, 5, group);
      await provisioner.purge(prefix, 5);
      await provisioner.purge(prefix, 5);
    },
  },
];

/** Due times, passes of the event loop, streams. */
export const INDEX_AND_LOOP_CHECKS: readonly ContractCheck[] = [
  ...INDEX_CHECKS,
  ...LOOP_CHECKS,
  ...STREAM_CHECKS,
];
