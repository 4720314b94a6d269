import { expect } from '@jest/globals';
import { epochMillis } from '../../src/domain/time';
import { freshKey, groupOf, leasesOf, memberId, reportOf, successorOf } from './group-fixtures';
import {
  commitOf,
  create,
  freshToken,
  LEASE_TTL_MS,
  loaded,
  lock,
  LOCK_TTL_MS,
  section,
  twinOf,
  type ContractCheck,
  type StoreHarness,
} from './store-harness';

const ANNA = memberId('anna');
const BERT = memberId('bert');
const SHORT_LOCK_TTL_MS = 40;

async function twoMembers(harness: StoreHarness) {
  const nowMs = await harness.nowMs();
  const group = groupOf(freshKey(), [ANNA, BERT], nowMs);
  const leases = leasesOf([ANNA, BERT], nowMs + LEASE_TTL_MS);
  await create(harness, group, leases);
  return { group, leases, nowMs };
}

/** Lock, load, commit and unlock. */
export const SECTION_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'locks a missing group and keeps others out until it is released',
    run: async (harness) => {
      const key = freshKey();
      const { token, loaded: group } = await lock(harness, key);
      expect(group).toBeNull();
      const other = await harness.store.lockAndLoad(key, {
        token: freshToken(),
        lockTtlMs: LOCK_TTL_MS,
        known: null,
      });
      expect(other).toMatchObject({ kind: 'BUSY' });
      if (other.kind === 'BUSY') expect(other.remainingMs).toBeLessThanOrEqual(LOCK_TTL_MS);
      await harness.store.unlock(key, token);
      await lock(harness, key);
    },
  },
  {
    promise: 'gives the lock to exactly one of many that ask at once',
    run: async (harness) => {
      const key = freshKey();
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () =>
          harness.store.lockAndLoad(key, { token: freshToken(), lockTtlMs: LOCK_TTL_MS, known: null }),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === 'MISSING')).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === 'BUSY')).toHaveLength(19);
    },
  },
  {
    promise: 'lets groups not wait for each other',
    run: async (harness) => {
      await lock(harness, freshKey());
      await lock(harness, freshKey());
    },
  },
  {
    promise: 'returns exactly what was committed, whatever the members are called',
    run: async (harness) => {
      const ids = ['constructor', 'toString', 'hasOwnProperty', 'a:b@c'].map(memberId);
      const nowMs = await harness.nowMs();
      const group = groupOf(freshKey(), ids, nowMs, 6);
      await create(harness, group, leasesOf(ids, nowMs + LEASE_TTL_MS));
      const read = await loaded(harness, group);
      expect(read.metadata).toEqual(group);
      expect(read.leases).toEqual(leasesOf(ids, nowMs + LEASE_TTL_MS));
      expect(read.redisNowMs).toBeGreaterThanOrEqual(nowMs);
      expect((await lock(harness, group)).loaded?.metadata).toEqual(group);
    },
  },
  {
    promise: 'releases the lock with the commit, and writes all of it',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      const next = { ...successorOf(group, nowMs), members: new Map([...group.members].slice(0, 1)) };
      const shards = group.shards.map((shard, index) => (index === 1 ? (group.shards[2] ?? shard) : shard));
      const outcome = await section(
        harness,
        group,
        { ...next, shards },
        {
          leaseChanges: new Map([
            [ANNA, epochMillis(nowMs + LEASE_TTL_MS + 5)],
            [BERT, null],
          ]),
          reports: new Map([[ANNA, reportOf(nowMs)]]),
        },
      );
      expect(outcome).toMatchObject({ kind: 'COMMITTED' });
      const { loaded: read } = await lock(harness, group);
      expect(read?.metadata).toEqual({ ...next, shards });
      expect(read?.leases).toEqual(leasesOf([ANNA], nowMs + LEASE_TTL_MS + 5));
      expect(await harness.store.loadReports(group)).toEqual(new Map([[ANNA, reportOf(nowMs)]]));
    },
  },
  {
    promise: 'refuses to create a group that exists, and releases the lock',
    run: async (harness) => {
      const { group, leases, nowMs } = await twoMembers(harness);
      const before = await harness.dump(group);
      const { token } = await lock(harness, group);
      const again = commitOf(null, successorOf(group, nowMs), token, { leaseChanges: leases });
      expect(await harness.store.commitAndUnlock(group, again)).toEqual({ kind: 'REVISION_CONFLICT' });
      expect(await harness.dump(group)).toBe(before);
      await lock(harness, group);
    },
  },
  {
    promise: 'refuses a writer that started from an older revision, and writes nothing of it',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      await section(harness, group, successorOf(group, nowMs));
      const before = await harness.dump(group);
      const { token } = await lock(harness, group);
      const stale = commitOf(group, successorOf(group, nowMs), token, {
        leaseChanges: new Map([[ANNA, epochMillis(nowMs + 2 * LEASE_TTL_MS)]]),
        reports: new Map([[ANNA, reportOf(nowMs)]]),
      });
      expect(await harness.store.commitAndUnlock(group, stale)).toEqual({ kind: 'REVISION_CONFLICT' });
      expect(await harness.dump(group)).toBe(before);
      await lock(harness, group);
    },
  },
  {
    promise: 'refuses a writer that started from another write of the same revision',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      const before = await harness.dump(group);
      const { token } = await lock(harness, group);
      const outcome = await harness.store.commitAndUnlock(
        group,
        commitOf(twinOf(group), successorOf(group, nowMs), token),
      );
      expect(outcome).toEqual({ kind: 'REVISION_CONFLICT' });
      expect(await harness.dump(group)).toBe(before);
    },
  },
  {
    promise: 'refuses a writer whose lock ran out, even if nobody else wrote',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      const before = await harness.dump(group);
      const { token } = await lock(harness, group, null, SHORT_LOCK_TTL_MS);
      await harness.passTime(SHORT_LOCK_TTL_MS);
      const late = commitOf(group, successorOf(group, nowMs), token);
      expect(await harness.store.commitAndUnlock(group, late)).toEqual({ kind: 'LOCK_LOST' });
      expect(await harness.dump(group)).toBe(before);
    },
  },
  {
    promise: 'refuses a writer whose lock another took meanwhile, and leaves that lock alone',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      const { token } = await lock(harness, group, null, SHORT_LOCK_TTL_MS);
      await harness.passTime(SHORT_LOCK_TTL_MS);
      const other = await lock(harness, group);
      const late = commitOf(group, successorOf(group, nowMs), token);
      expect(await harness.store.commitAndUnlock(group, late)).toEqual({ kind: 'LOCK_LOST' });
      const own = commitOf(group, successorOf(group, nowMs), other.token);
      expect(await harness.store.commitAndUnlock(group, own)).toMatchObject({ kind: 'COMMITTED' });
    },
  },
  {
    promise: 'unlocks nothing with the token of another, nor with a late one',
    run: async (harness) => {
      const key = freshKey();
      const { token } = await lock(harness, key, null, SHORT_LOCK_TTL_MS);
      await harness.store.unlock(key, freshToken());
      await harness.passTime(SHORT_LOCK_TTL_MS);
      await lock(harness, key);
      await harness.store.unlock(key, token);
      const third = await harness.store.lockAndLoad(key, {
        token: freshToken(),
        lockTtlMs: LOCK_TTL_MS,
        known: null,
      });
      expect(third.kind).toBe('BUSY');
    },
  },
  {
    promise: 'refuses to end a tenure whose lease was renewed since it was read',
    run: async (harness) => {
      const { group, leases, nowMs } = await twoMembers(harness);
      const { token } = await lock(harness, group);
      await harness.passTime(2);
      const renewal = { base: group, leaseTtlMs: LEASE_TTL_MS, reports: new Map([[ANNA, reportOf(nowMs)]]) };
      expect(await harness.store.renewLeases(group, renewal)).toMatchObject({ kind: 'RENEWED' });
      const before = await harness.dump(group);
      const commit = commitOf(group, successorOf(group, nowMs), token, {
        leaseChanges: new Map([[ANNA, null]]),
        expectedLeases: leases,
      });
      expect(await harness.store.commitAndUnlock(group, commit)).toEqual({ kind: 'LEASE_MOVED' });
      expect(await harness.dump(group)).toBe(before);
      await lock(harness, group);
    },
  },
  {
    promise: 'commits when every lease is as it was read',
    run: async (harness) => {
      const { group, leases, nowMs } = await twoMembers(harness);
      const outcome = await section(harness, group, successorOf(group, nowMs), { expectedLeases: leases });
      expect(outcome).toMatchObject({ kind: 'COMMITTED' });
    },
  },
  {
    promise: 'writes only leases and reports when the value is unchanged',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      const deadlineMs = nowMs + 2 * LEASE_TTL_MS;
      const outcome = await section(harness, group, 'UNCHANGED', {
        leaseChanges: leasesOf([ANNA], deadlineMs),
        reports: new Map([[ANNA, reportOf(nowMs)]]),
      });
      expect(outcome).toMatchObject({ kind: 'COMMITTED' });
      const read = await loaded(harness, group);
      expect(read.metadata).toEqual(group);
      expect(read.leases.get(ANNA)).toBe(deadlineMs);
      expect(await harness.store.loadReports(group)).toEqual(new Map([[ANNA, reportOf(nowMs)]]));
      await lock(harness, group);
    },
  },
  {
    promise: 'refuses leases and reports that were decided on an older value',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      await section(harness, group, successorOf(group, nowMs));
      const before = await harness.dump(group);
      const { token } = await lock(harness, group);
      const stale = commitOf(group, 'UNCHANGED', token, { leaseChanges: leasesOf([ANNA], nowMs + 90_000) });
      expect(await harness.store.commitAndUnlock(group, stale)).toEqual({ kind: 'REVISION_CONFLICT' });
      expect(await harness.dump(group)).toBe(before);
    },
  },
  {
    promise: 'never moves a recorded deadline back: its member was told of it',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      await section(harness, group, 'UNCHANGED', { leaseChanges: leasesOf([ANNA], nowMs + 1_000) });
      expect((await loaded(harness, group)).leases.get(ANNA)).toBe(nowMs + LEASE_TTL_MS);
    },
  },
  {
    promise: 'deletes a group with all that is stored of it',
    run: async (harness) => {
      const { group } = await twoMembers(harness);
      expect(await section(harness, group, null)).toMatchObject({ kind: 'COMMITTED' });
      expect(await harness.dump(group)).toBeNull();
      expect(await harness.store.load(group)).toMatchObject({ kind: 'MISSING' });
      await lock(harness, group);
    },
  },
  {
    promise: 'announces a committed change, and no refused one',
    run: async (harness) => {
      const { group, nowMs } = await twoMembers(harness);
      const heard: string[] = [];
      const end = harness.notices.onNotice((key) => heard.push(key.streamPrefix));
      const { token } = await lock(harness, group);
      const stale = commitOf(twinOf(group), successorOf(group, nowMs), token, { announce: true });
      await harness.store.commitAndUnlock(group, stale);
      // The subscription may still be under way: a change is announced again until it is heard.
      for (let attempt = 0; attempt < 100 && heard.length === 0; attempt += 1) {
        await section(harness, group, 'UNCHANGED', { announce: true });
        await harness.passTime(5);
      }
      end();
      expect(new Set(heard)).toEqual(new Set([group.streamPrefix]));
    },
  },
];
