import { expect } from '@jest/globals';
import { freshKey, groupOf, leasesOf, memberId, reportOf, REDIS_ID, successorOf } from './group-fixtures';
import {
  commitOf,
  create,
  freshToken,
  LEASE_TTL_MS,
  loaded,
  lock,
  LOCK_TTL_MS,
  section,
  type ContractCheck,
  type StoreHarness,
} from './store-harness';

const ANNA = memberId('anna');
const BERT = memberId('bert');

async function corruptGroup(harness: StoreHarness) {
  const nowMs = await harness.nowMs();
  const group = groupOf(freshKey(), [ANNA, BERT], nowMs);
  await create(harness, group, leasesOf([ANNA, BERT], nowMs + LEASE_TTL_MS));
  await section(harness, group, 'UNCHANGED', { reports: new Map([[BERT, reportOf(nowMs)]]) });
  await harness.tamper(group, 'aggregate', '{');
  return { group, nowMs };
}

/** Takes the lock to replace what cannot be read. */
async function lockCorrupt(harness: StoreHarness, key: ReturnType<typeof freshKey>): Promise<string> {
  const token = freshToken();
  const request = { token, lockTtlMs: LOCK_TTL_MS, known: null, holdsCorrupt: true };
  const outcome = await harness.store.lockAndLoad(key, request);
  expect(outcome).toMatchObject({ kind: 'CORRUPT', redisId: REDIS_ID });
  return token;
}

/** Restoring a group in the place of what cannot be read. */
export const REPLACEMENT_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'replaces a corrupt value under its lock, with all that lies beside it',
    run: async (harness) => {
      const { group, nowMs } = await corruptGroup(harness);
      const token = await lockCorrupt(harness, group);
      const next = successorOf(groupOf(group, [ANNA], nowMs + 1), nowMs + 2);
      const leaseChanges = leasesOf([ANNA], nowMs + 500);
      const commit = commitOf(null, next, token, { leaseChanges, replacesCorrupt: true });
      expect(await harness.store.commitAndUnlock(group, commit)).toMatchObject({ kind: 'COMMITTED' });
      const read = await loaded(harness, group);
      expect(read.metadata).toEqual(next);
      expect(read.leases).toEqual(leaseChanges);
      expect((await harness.store.loadReports(group)).size).toBe(0);
      await lock(harness, group);
    },
  },
  {
    promise: 'replaces something that is no group at all',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const next = groupOf(freshKey(), [], nowMs);
      await harness.misplace(next);
      const token = await lockCorrupt(harness, next);
      const commit = commitOf(null, next, token, { replacesCorrupt: true });
      expect(await harness.store.commitAndUnlock(next, commit)).toMatchObject({ kind: 'COMMITTED' });
      expect((await loaded(harness, next)).metadata).toEqual(next);
    },
  },
  {
    promise: 'keeps others out while a corrupt value is being replaced, until it is released',
    run: async (harness) => {
      const { group } = await corruptGroup(harness);
      const token = await lockCorrupt(harness, group);
      const request = { token: freshToken(), lockTtlMs: LOCK_TTL_MS, known: null };
      expect(await harness.store.lockAndLoad(group, request)).toMatchObject({ kind: 'BUSY' });
      await harness.store.unlock(group, token);
      expect(await harness.store.lockAndLoad(group, request)).toMatchObject({ kind: 'CORRUPT' });
    },
  },
  {
    promise: 'replaces nothing with a lock that ran out, nor with one that others hold',
    run: async (harness) => {
      const { group, nowMs } = await corruptGroup(harness);
      const before = await harness.dump(group);
      await lockCorrupt(harness, group);
      const next = successorOf(group, nowMs);
      const commit = commitOf(null, next, freshToken(), { replacesCorrupt: true });
      expect(await harness.store.commitAndUnlock(group, commit)).toEqual({ kind: 'LOCK_LOST' });
      expect(await harness.dump(group)).toBe(before);
    },
  },
  {
    promise: 'replaces nothing that is gone by now: a missing group is created, not replaced',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const next = groupOf(freshKey(), [], nowMs);
      const { token } = await lock(harness, next);
      const commit = commitOf(null, next, token, { replacesCorrupt: true });
      expect(await harness.store.commitAndUnlock(next, commit)).toEqual({ kind: 'REVISION_CONFLICT' });
      expect(await harness.dump(next)).toBeNull();
    },
  },
  {
    promise: 'holds no lock over what another version of this software wrote, whatever it is asked for',
    run: async (harness) => {
      const { group } = await corruptGroup(harness);
      await harness.tamper(group, 'schemaVersion', '2');
      const before = await harness.dump(group);
      const request = { lockTtlMs: LOCK_TTL_MS, known: null, holdsCorrupt: true };
      for (const token of [freshToken(), freshToken()]) {
        const outcome = await harness.store.lockAndLoad(group, { ...request, token });
        expect(outcome).toMatchObject({ kind: 'SCHEMA_UNSUPPORTED' });
      }
      expect(await harness.dump(group)).toBe(before);
    },
  },
  {
    promise: 'holds the lock of a readable or missing group as usual when it may be corrupt',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const group = groupOf(freshKey(), [], nowMs);
      const request = { lockTtlMs: LOCK_TTL_MS, known: null, holdsCorrupt: true };
      const first = { ...request, token: freshToken() };
      expect(await harness.store.lockAndLoad(group, first)).toMatchObject({ kind: 'MISSING' });
      const outcome = await harness.store.commitAndUnlock(group, commitOf(null, group, first.token));
      expect(outcome).toMatchObject({ kind: 'COMMITTED' });
      const second = { ...request, token: freshToken() };
      expect(await harness.store.lockAndLoad(group, second)).toMatchObject({ kind: 'LOADED' });
      const next = successorOf(group, nowMs);
      expect(await harness.store.commitAndUnlock(group, commitOf(group, next, second.token))).toMatchObject({
        kind: 'COMMITTED',
      });
    },
  },
];
