import { afterAll, afterEach, beforeAll, describe, it } from '@jest/globals';
import { IDENTITY_CHECKS } from './identity-checks';
import { INDEX_AND_LOOP_CHECKS } from './index-and-loop-checks';
import { READ_AND_RENEW_CHECKS } from './read-and-renew-checks';
import { REPLACEMENT_CHECKS } from './replacement-checks';
import { SECTION_CHECKS } from './section-checks';
import type { ContractCheck, StoreHarness } from './store-harness';
import { UNREADABLE_CHECKS, UNREADABLE_RENEWAL_CHECKS } from './unreadable-checks';

/** Every promise of the store's ports, for any adapter. A list, so that a broken adapter can be judged by it, too. */
export const STORE_CONTRACT: readonly ContractCheck[] = [
  ...SECTION_CHECKS,
  ...READ_AND_RENEW_CHECKS,
  ...IDENTITY_CHECKS,
  ...UNREADABLE_CHECKS,
  ...UNREADABLE_RENEWAL_CHECKS,
  ...REPLACEMENT_CHECKS,
  ...INDEX_AND_LOOP_CHECKS,
];

export interface ContractSubject {
  start?(): Promise<void>;
  stop?(): Promise<void>;
  newHarness(): Promise<StoreHarness>;
}

/** One test per promise. */
export function describeStoreContract(adapter: string, subject: ContractSubject): void {
  describe(`the store contract, kept by ${adapter}`, () => {
    let harness: StoreHarness | null = null;
    beforeAll(async () => subject.start?.());
    afterAll(async () => subject.stop?.());
    afterEach(async () => {
      await harness?.close();
      harness = null;
    });

    for (const { promise, run } of STORE_CONTRACT) {
      it(promise, async () => {
        harness = await subject.newHarness();
        await run(harness);
      });
    }
  });
}

/** The promises that adapters break, each with what was seen. */
export async function brokenPromises(
  newHarness: () => Promise<StoreHarness>,
): Promise<ReadonlyMap<string, unknown>> {
  const broken = new Map<string, unknown>();
  for (const { promise, run } of STORE_CONTRACT) {
    const harness = await newHarness();
    try {
      await run(harness);
    } catch (error) {
      broken.set(promise, error);
    } finally {
      await harness.close();
    }
  }
  return broken;
}
