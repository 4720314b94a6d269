import { describe, expect, it } from '@jest/globals';
import { Lease } from '../../../../src/client/consumer/lease';
import type { MonotonicMillis } from '../../../../src/domain/time';

const at = (ms: number): MonotonicMillis => ms as MonotonicMillis;

describe('a client lease', () => {
  it('counts from the sending, and treats the exact end as over', () => {
    const lease = Lease.renewedFrom(at(1_000), 500);
    expect(lease.isOver(at(1_499))).toBe(false);
    expect(lease.isOver(at(1_500))).toBe(true);
  });

  it('has nothing left once it is over', () => {
    const lease = Lease.renewedFrom(at(1_000), 500);
    expect(lease.remainingMs(at(1_200))).toBe(300);
    expect(lease.remainingMs(at(2_000))).toBe(0);
  });

  it('is over at any time for a member that holds nothing', () => {
    expect(Lease.none().isOver(at(0))).toBe(true);
    expect(Lease.none().isOver(at(-1e12))).toBe(true);
  });
});
