import { expect } from '@jest/globals';
import { freshKey, groupOf, leasesOf, memberId, reportOf, successorOf } from './group-fixtures';
import {
  commitOf,
  create,
  freshToken,
  LEASE_TTL_MS,
  loaded,
  lock,
  LOCK_TTL_MS,
  type ContractCheck,
  type StoreHarness,
  type TamperedField,
} from './store-harness';

const ANNA = memberId('anna');

type Tampering = (harness: StoreHarness, group: ReturnType<typeof groupOf>) => Promise<void>;

interface Form {
  readonly what: string;
  readonly kind?: 'SCHEMA_UNSUPPORTED';
  readonly tamper: Tampering;
  /** What is no part of what makes a known value current is found out by the next one that reads all of it. */
  readonly passesForKnown?: true;
}

function field(what: string, name: TamperedField, value: string | null, parts: Partial<Form> = {}): Form {
  return { what, tamper: (harness, group) => harness.tamper(group, name, value), ...parts };
}

function inAggregate(what: string, change: (aggregate: Record<string, unknown>) => void): Form {
  return {
    what,
    tamper: async (harness, group) => {
      const stored = JSON.parse((await harness.dump(group)) ?? '') as unknown;
      const aggregate = JSON.parse(aggregateIn(stored)) as Record<string, unknown>;
      change(aggregate);
      await harness.tamper(group, 'aggregate', JSON.stringify(aggregate));
    },
  };
}

/** A dump is an object (memory) or a list of fields with their values (Redis). */
function aggregateIn(stored: unknown): string {
  const fields = Array.isArray(stored) ? new Map(stored as [string, string][]) : null;
  return fields?.get('aggregate') ?? (stored as { readonly aggregate: string }).aggregate;
}

const lease = (what: string, text: string | null): Form => ({
  what,
  tamper: (harness, group) => harness.tamperLease(group, ANNA, text),
});

const FORMS: readonly Form[] = [
  field('an aggregate that is not JSON', 'aggregate', '{"streamPrefix":'),
  field('an aggregate that is another kind of JSON', 'aggregate', '[]'),
  field('an empty aggregate', 'aggregate', ''),
  field('a missing aggregate', 'aggregate', null),
  inAggregate('an aggregate that lacks a field', (aggregate) => delete aggregate['shardCount']),
  inAggregate('an aggregate with a field of a later version', (aggregate) => (aggregate['later'] = 1)),
  inAggregate('an aggregate with a text for a number', (aggregate) => (aggregate['groupEpoch'] = '7')),
  inAggregate('an aggregate of another group', (aggregate) => (aggregate['consumerGroup'] = 'elsewhere')),
  inAggregate('an aggregate that breaks an invariant', (aggregate) => (aggregate['lastMemberEpoch'] = 1)),
  inAggregate('an aggregate with half a correction round', (aggregate) => (aggregate['correction'] = {})),
  field('a revision that differs from the aggregate', 'revision', '7'),
  field('a missing revision', 'revision', null),
  field('a write id that differs from the aggregate', 'writeId', 'another'),
  field('a missing write id', 'writeId', null),
  field('a time of writing that differs from the aggregate', 'updatedAt', '12', { passesForKnown: true }),
  field('a missing time of writing', 'updatedAt', null, { passesForKnown: true }),
  field('a missing schema version', 'schemaVersion', null),
  field('a missing layout version', 'layoutVersion', null),
  field('a future schema', 'schemaVersion', '2', { kind: 'SCHEMA_UNSUPPORTED' }),
  field('a future layout', 'layoutVersion', '99', { kind: 'SCHEMA_UNSUPPORTED' }),
  lease('a live member without a lease', null),
  lease('a lease that is a word', 'soon'),
  lease('an empty lease', ''),
  lease('a lease in exponent form', '1e99'),
  lease('a lease beyond all integers', '99999999999999999'),
  { what: 'a lease of a stranger', tamper: (harness, group) => harness.tamperLease(group, 'zoe', '1') },
  { what: 'something in its place that is no group', tamper: (harness, group) => harness.misplace(group) },
];

async function memberOfTampered(harness: StoreHarness, { tamper }: Form) {
  const nowMs = await harness.nowMs();
  const group = groupOf(freshKey(), [ANNA], nowMs);
  await create(harness, group, leasesOf([ANNA], nowMs + LEASE_TTL_MS));
  const { metadata: known } = await loaded(harness, group);
  await tamper(harness, group);
  return { group, known, nowMs, before: await harness.dump(group) };
}

/** Every form in which a group cannot be read: said to everyone who asks, overwritten by nobody. */
export const UNREADABLE_CHECKS: readonly ContractCheck[] = FORMS.flatMap((form) => {
  const kind = form.kind ?? 'CORRUPT';
  return [
    {
      promise: `says ${kind} of ${form.what}, holds no lock then, and overwrites nothing`,
      run: async (harness: StoreHarness) => {
        const { group, known, before } = await memberOfTampered(harness, form);
        for (const value of form.passesForKnown ? [null] : [null, known]) {
          expect(await harness.store.load(group, value ?? undefined)).toMatchObject({ kind });
          const request = { lockTtlMs: LOCK_TTL_MS, known: value };
          // The lock was released: the next one is told the same, not BUSY.
          for (const token of [freshToken(), freshToken()]) {
            expect(await harness.store.lockAndLoad(group, { ...request, token })).toMatchObject({ kind });
          }
        }
        expect(await harness.dump(group)).toBe(before);
      },
    },
    {
      promise: `lets nobody create a group over ${form.what}, nor write with a lock that it does not hold`,
      run: async (harness: StoreHarness) => {
        const { group, known, nowMs, before } = await memberOfTampered(harness, form);
        const token = freshToken();
        await harness.store.lockAndLoad(group, { token, lockTtlMs: LOCK_TTL_MS, known: null });
        for (const [base, next] of [
          [null, group],
          [known, successorOf(known, nowMs)],
          [known, 'UNCHANGED'],
          [known, null],
        ] as const) {
          const commit = commitOf(base, next, token, { leaseChanges: leasesOf([ANNA], nowMs + 99_000) });
          expect(await harness.store.commitAndUnlock(group, commit)).toEqual({ kind: 'LOCK_LOST' });
        }
        expect(await harness.dump(group)).toBe(before);
      },
    },
  ];
});

const WRONG_BASE: readonly Form[] = FORMS.filter(({ what }) => !/lease|time of writing that/.test(what));
const WRONG_LEASE: readonly Form[] = FORMS.filter(({ what }) => /lease/.test(what) && !/stranger/.test(what));

/** The lease fast path reads only what it compares: it renews nothing there either. */
export const UNREADABLE_RENEWAL_CHECKS: readonly ContractCheck[] = [
  ...WRONG_BASE.map((form) => renewalCheck(form, { kind: 'STALE' })),
  ...WRONG_LEASE.map((form) => renewalCheck(form, { kind: 'RENEWED', renewed: new Map() })),
];

function renewalCheck(form: Form, answer: object): ContractCheck {
  return {
    promise: `renews no lease over ${form.what}`,
    run: async (harness) => {
      const { group, known, nowMs, before } = await memberOfTampered(harness, form);
      const renewal = {
        base: known,
        leaseTtlMs: LEASE_TTL_MS + 1,
        reports: new Map([[ANNA, reportOf(nowMs)]]),
      };
      expect(await harness.store.renewLeases(group, renewal)).toMatchObject(answer);
      expect(await harness.dump(group)).toBe(before);
      await expect(lock(harness, group)).rejects.toThrow();
    },
  };
}
