import { expect } from '@jest/globals';
import { freshKey, groupOf, leasesOf, memberId, REDIS_ID, reportOf, successorOf } from './group-fixtures';
import {
  commitOf,
  create,
  LEASE_TTL_MS,
  loaded,
  lock,
  section,
  type ContractCheck,
  type StoreHarness,
} from './store-harness';

const ANNA = memberId('anna');
const OTHER_ID = 'node-2/repl-7';

async function oneMember(harness: StoreHarness) {
  const nowMs = await harness.nowMs();
  const group = groupOf(freshKey(), [ANNA], nowMs);
  await create(harness, group, leasesOf([ANNA], nowMs + LEASE_TTL_MS));
  return { group, nowMs };
}

/** Which Redis took a write, and which one answers. */
export const IDENTITY_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'says after a failover which Redis took the last write, and which one answers',
    run: async (harness) => {
      const { group } = await oneMember(harness);
      const before = await loaded(harness, group);
      expect([before.metadata.redisId, before.redisId]).toEqual([REDIS_ID, REDIS_ID]);
      harness.setRedisId(OTHER_ID);
      // Also of a value that is known: it was not sent again.
      for (const known of [undefined, before.metadata]) {
        const after = await harness.store.load(group, known);
        expect(after).toMatchObject({ metadata: { redisId: REDIS_ID }, redisId: OTHER_ID });
      }
      const { loaded: locked } = await lock(harness, group);
      expect(locked).toMatchObject({ metadata: { redisId: REDIS_ID }, redisId: OTHER_ID });
      const missing = await harness.store.load(freshKey());
      expect(missing).toMatchObject({ kind: 'MISSING', redisId: OTHER_ID });
    },
  },
  {
    promise:
      'records with each write which Redis took it, and leaves that alone when only leases are written',
    run: async (harness) => {
      const { group, nowMs } = await oneMember(harness);
      harness.setRedisId(OTHER_ID);
      await section(harness, group, 'UNCHANGED', { leaseChanges: leasesOf([ANNA], nowMs + 99_000) });
      expect((await loaded(harness, group)).metadata.redisId).toBe(REDIS_ID);
      await section(harness, group, { ...successorOf(group, nowMs), redisId: OTHER_ID });
      expect((await loaded(harness, group)).metadata.redisId).toBe(OTHER_ID);
    },
  },
  {
    promise: 'renews nothing on another Redis than the one that took the last write',
    run: async (harness) => {
      const { group, nowMs } = await oneMember(harness);
      const before = await harness.dump(group);
      harness.setRedisId(OTHER_ID);
      const reports = new Map([[ANNA, reportOf(nowMs)]]);
      const renewal = { base: group, leaseTtlMs: LEASE_TTL_MS + 1, reports };
      expect(await harness.store.renewLeases(group, renewal)).toEqual({ kind: 'STALE' });
      expect(await harness.dump(group)).toBe(before);
      harness.setRedisId(REDIS_ID);
      expect(await harness.store.renewLeases(group, renewal)).toMatchObject({ kind: 'RENEWED' });
    },
  },
  {
    promise: 'takes no write that was decided on what another Redis held, and releases the lock',
    run: async (harness) => {
      const { group, nowMs } = await oneMember(harness);
      const before = await harness.dump(group);
      const { token } = await lock(harness, group);
      harness.setRedisId(OTHER_ID);
      const commit = commitOf(group, successorOf(group, nowMs), token);
      expect(await harness.store.commitAndUnlock(group, commit)).toEqual({ kind: 'LOCK_LOST' });
      expect(await harness.dump(group)).toBe(before);
      await lock(harness, group);
    },
  },
];
