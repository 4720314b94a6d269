import { expect } from '@jest/globals';
import { epochMillis } from '../../src/domain/time';
import { freshKey, groupOf, leasesOf, memberId, reportOf, successorOf } from './group-fixtures';
import {
  create,
  LEASE_TTL_MS,
  loaded,
  lock,
  section,
  twinOf,
  type ContractCheck,
  type StoreHarness,
} from './store-harness';

const ANNA = memberId('anna');
const BERT = memberId('bert');
const SHORT_LEASE_MS = 30;

async function oneMember(harness: StoreHarness, leaseTtlMs = LEASE_TTL_MS) {
  const nowMs = await harness.nowMs();
  const group = groupOf(freshKey(), [ANNA], nowMs);
  await create(harness, group, leasesOf([ANNA], nowMs + leaseTtlMs));
  return { group, nowMs };
}

/** Known values, the lease fast path. */
export const READ_AND_RENEW_CHECKS: readonly ContractCheck[] = [
  {
    promise: 'answers with the known value itself while it is current, and with the leases of now',
    run: async (harness) => {
      const { group, nowMs } = await oneMember(harness);
      const { metadata: known } = await loaded(harness, group);
      await section(harness, group, 'UNCHANGED', { leaseChanges: leasesOf([ANNA], nowMs + 99_000) });
      const again = await harness.store.load(group, known);
      expect(again).toMatchObject({ kind: 'LOADED', leases: leasesOf([ANNA], nowMs + 99_000) });
      if (again.kind === 'LOADED') expect(again.metadata).toBe(known);
      expect((await lock(harness, group, known)).loaded?.metadata).toBe(known);
    },
  },
  {
    promise: 'answers with the stored value when the known one is of an older revision or another write',
    run: async (harness) => {
      const { group, nowMs } = await oneMember(harness);
      const next = successorOf(group, nowMs);
      await section(harness, group, next);
      for (const known of [group, twinOf(next)]) {
        expect(await harness.store.load(group, known)).toMatchObject({ kind: 'LOADED', metadata: next });
      }
      expect((await lock(harness, group, twinOf(next))).loaded?.metadata).toEqual(next);
    },
  },
  {
    promise: 'shares no value with its callers',
    run: async (harness) => {
      const { group } = await oneMember(harness);
      const first = (await loaded(harness, group)).metadata;
      try {
        (first.shards as unknown[]).length = 0; // either refused, or without effect on what is stored
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
      }
      expect((await loaded(harness, group)).metadata).toEqual(group);
    },
  },
  {
    promise: 'renews a running lease, stamps the report, and moves no number',
    run: async (harness) => {
      const { group } = await oneMember(harness);
      await harness.passTime(3);
      const beforeMs = await harness.nowMs();
      const { availableConcurrency, progress } = reportOf(0);
      const outcome = await harness.store.renewLeases(group, {
        base: group,
        leaseTtlMs: LEASE_TTL_MS,
        reports: new Map([[ANNA, { availableConcurrency, progress }]]),
      });
      const afterMs = await harness.nowMs();
      if (outcome.kind !== 'RENEWED') throw new Error(outcome.kind);
      const deadlineMs = outcome.renewed.get(ANNA) ?? 0;
      expect(deadlineMs).toBeGreaterThanOrEqual(beforeMs + LEASE_TTL_MS);
      expect(deadlineMs).toBeLessThanOrEqual(afterMs + LEASE_TTL_MS);
      const read = await loaded(harness, group);
      expect(read.metadata).toEqual(group);
      expect(read.leases).toEqual(new Map([[ANNA, deadlineMs]]));
      expect(await harness.store.loadReports(group)).toEqual(
        new Map([[ANNA, { receivedAtMs: deadlineMs - LEASE_TTL_MS, availableConcurrency, progress }]]),
      );
    },
  },
  {
    promise: 'revives no lease that ran out, and makes none for a stranger, while it renews the others',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const group = groupOf(freshKey(), [ANNA, BERT], nowMs);
      const leases = new Map([
        [ANNA, epochMillis(nowMs + SHORT_LEASE_MS)],
        [BERT, epochMillis(nowMs + LEASE_TTL_MS)],
      ]);
      await create(harness, group, leases);
      await harness.passTime(SHORT_LEASE_MS);
      const outcome = await harness.store.renewLeases(group, {
        base: group,
        leaseTtlMs: LEASE_TTL_MS,
        reports: new Map([ANNA, BERT, memberId('zoe')].map((id) => [id, reportOf(nowMs)])),
      });
      if (outcome.kind !== 'RENEWED') throw new Error(outcome.kind);
      expect([...outcome.renewed.keys()]).toEqual([BERT]);
      const read = await loaded(harness, group);
      expect(read.leases.get(ANNA)).toBe(nowMs + SHORT_LEASE_MS);
      expect([...read.leases.keys()].sort()).toEqual([ANNA, BERT]);
      expect([...(await harness.store.loadReports(group)).keys()]).toEqual([BERT]);
    },
  },
  {
    promise: 'renews nothing when the group is no longer the one that was judged',
    run: async (harness) => {
      const { group, nowMs } = await oneMember(harness);
      const renewal = { leaseTtlMs: LEASE_TTL_MS, reports: new Map([[ANNA, reportOf(nowMs)]]) };
      const next = successorOf(group, nowMs);
      await section(harness, group, next);
      const before = await harness.dump(group);
      for (const base of [group, twinOf(next), { ...next, storeRevision: group.storeRevision }]) {
        expect(await harness.store.renewLeases(group, { ...renewal, base })).toEqual({ kind: 'STALE' });
      }
      expect(await harness.dump(group)).toBe(before);
    },
  },
  {
    promise: 'renews nothing of a missing group, and makes no trace of it',
    run: async (harness) => {
      const nowMs = await harness.nowMs();
      const group = groupOf(freshKey(), [ANNA], nowMs);
      const renewal = { base: group, leaseTtlMs: LEASE_TTL_MS, reports: new Map([[ANNA, reportOf(nowMs)]]) };
      expect(await harness.store.renewLeases(group, renewal)).toEqual({ kind: 'STALE' });
      expect(await harness.dump(group)).toBeNull();
    },
  },
  {
    promise: 'counts a renewal from the last write when the clock went back behind it',
    run: async (harness) => {
      const aheadMs = (await harness.nowMs()) + 60_000;
      const group = groupOf(freshKey(), [ANNA], aheadMs);
      await create(harness, group, leasesOf([ANNA], aheadMs + LEASE_TTL_MS));
      const outcome = await harness.store.renewLeases(group, {
        base: group,
        leaseTtlMs: LEASE_TTL_MS + 1,
        reports: new Map([[ANNA, reportOf(aheadMs)]]),
      });
      expect(outcome).toMatchObject({ renewed: new Map([[ANNA, aheadMs + LEASE_TTL_MS + 1]]) });
    },
  },
];
