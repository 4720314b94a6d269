import { beforeEach, describe, expect, it } from '@jest/globals';
import { RoutingCache } from '../../../../src/client/publisher/routing-cache';
import { HighestVersion } from '../../../../src/client/versions/highest-version';
import type { MonotonicMillis } from '../../../../src/domain/time';
import { routingOf } from './routing-samples';

const at = (ms: number): MonotonicMillis => ms as MonotonicMillis;

let cache: RoutingCache;
beforeEach(() => {
  cache = new RoutingCache({ leaseMs: 1_000, refreshMs: 100 });
});

describe('the routing lease', () => {
  it('counts from the sending of the request, and its last instant counts as over', () => {
    cache.accept(routingOf(5), at(10_000));
    expect(cache.usableAt(at(10_999))?.metadataVersion).toBe(5);
    expect(cache.usableAt(at(11_000))).toBeNull();
  });

  it('is renewed by an answer of the same version, and never shortened by an older request', () => {
    cache.accept(routingOf(5), at(10_000));
    expect(cache.accept(routingOf(5), at(10_500))).toBe('RENEWED');
    expect(cache.usableAt(at(11_499))?.metadataVersion).toBe(5);
    cache.accept(routingOf(5), at(10_100));
    expect(cache.usableAt(at(11_499))?.metadataVersion).toBe(5);
    expect(cache.usableAt(at(11_500))).toBeNull();
  });

  it('takes its length and the refresh interval from the coordinator', () => {
    cache.accept(routingOf(5, { leaseMs: 300, refreshMs: 90 }), at(10_000));
    expect(cache.usableAt(at(10_299))).not.toBeNull();
    expect(cache.usableAt(at(10_300))).toBeNull();
    expect(cache.times).toEqual({ leaseMs: 300, refreshMs: 90 });
  });

  it('leaves room for two refreshes whatever interval the coordinator names', () => {
    cache.accept(routingOf(5, { leaseMs: 1_000, refreshMs: 5_000 }), at(10_000));
    expect(cache.times.refreshMs).toBe(400);
  });

  it('knows what is left of it', () => {
    expect(cache.leaseRemainingMs(at(10_000))).toBeNull();
    cache.accept(routingOf(5), at(10_000));
    expect(cache.leaseRemainingMs(at(10_250))).toBe(750);
    expect(cache.leaseRemainingMs(at(12_000))).toBe(0);
  });

  it('knows its age', () => {
    expect(cache.ageMs(at(10_000))).toBeNull();
    cache.accept(routingOf(5), at(10_000));
    expect(cache.ageMs(at(10_250))).toBe(250);
  });
});

describe('an answer', () => {
  it('of a higher version replaces the routing', () => {
    cache.accept(routingOf(5, { shardCount: 2 }), at(10_000));
    expect(cache.accept(routingOf(6, { shardCount: 4 }), at(10_100))).toBe('REPLACED');
    expect(cache.usableAt(at(10_200))?.shardCount).toBe(4);
  });

  it('of a lower version is dropped and renews nothing', () => {
    cache.accept(routingOf(5), at(10_000));
    expect(cache.accept(routingOf(4), at(10_900))).toBe('DROPPED');
    expect(cache.usableAt(at(10_999))?.metadataVersion).toBe(5);
    expect(cache.usableAt(at(11_000))).toBeNull();
  });

  it('of a lower version replaces the routing when the coordinator says that history went back', () => {
    cache.accept(routingOf(5, { shardCount: 2 }), at(10_000));
    expect(cache.accept(routingOf(4, { shardCount: 1, regressed: true }), at(10_100))).toBe('REPLACED');
    expect(cache.usableAt(at(10_200))?.metadataVersion).toBe(4);
    expect(cache.query()).toEqual({ metadataVersion: 4, maxObservedVersion: 5 }); // still told, so that it counts
  });

  it('of a regressed coordinator renews the lease of the regressed routing', () => {
    cache.accept(routingOf(5), at(10_000));
    cache.accept(routingOf(4, { regressed: true }), at(10_100));
    expect(cache.accept(routingOf(4, { regressed: true }), at(10_600))).toBe('RENEWED');
    expect(cache.usableAt(at(11_500))?.metadataVersion).toBe(4);
  });
});

describe('a history that went back', () => {
  it('is told by every refresh until the coordinator is above what was seen', () => {
    cache.accept(routingOf(50), at(10_000));
    cache.accept(routingOf(40, { regressed: true }), at(10_100));
    cache.accept(routingOf(41, { regressed: true }), at(10_200));
    expect(cache.query()).toEqual({ metadataVersion: 41, maxObservedVersion: 50 });
    cache.accept(routingOf(60), at(10_300));
    expect(cache.query()).toEqual({ metadataVersion: 60, maxObservedVersion: 60 });
    expect(cache.regressions).toBe(2);
  });

  it('goes back further only when the coordinator says so again', () => {
    cache.accept(routingOf(50), at(10_000));
    cache.accept(routingOf(40, { regressed: true }), at(10_100));
    expect(cache.accept(routingOf(39), at(10_200))).toBe('DROPPED');
    expect(cache.accept(routingOf(39, { regressed: true }), at(10_300))).toBe('REPLACED');
  });

  it('is counted when an earlier process saw more, and not when nothing was seen', () => {
    const highestVersion = new HighestVersion();
    highestVersion.observe(70);
    const restarted = new RoutingCache({ leaseMs: 1_000, refreshMs: 100 }, highestVersion);
    expect(restarted.query()).toEqual({ maxObservedVersion: 70 });
    expect(restarted.accept(routingOf(60, { regressed: true }), at(10_000))).toBe('REPLACED');
    expect(restarted.query()).toEqual({ metadataVersion: 60, maxObservedVersion: 70 });
    expect(restarted.regressions).toBe(1);
    cache.accept(routingOf(60), at(10_000));
    expect(cache.regressions).toBe(0);
  });

  it('keeps a lower routing out of use that renews nothing: publishing ends with the lease', () => {
    cache.accept(routingOf(50), at(10_000));
    for (let ms = 10_100; ms < 11_000; ms += 100) cache.accept(routingOf(40), at(ms));
    expect(cache.usableAt(at(11_000))).toBeNull();
    expect(cache.regressions).toBe(0);
  });
});

describe('a refresh', () => {
  it('tells nothing before anything was seen', () => {
    expect(cache.query()).toEqual({});
  });

  it('tells the version held and the highest ever seen', () => {
    cache.accept(routingOf(5), at(10_000));
    expect(cache.query()).toEqual({ metadataVersion: 5, maxObservedVersion: 5 });
    expect(cache.note(9)).toBe(true);
    expect(cache.query()).toEqual({ metadataVersion: 5, maxObservedVersion: 9 });
  });

  it('is not asked for by a version that is held or lower, or when nothing is held', () => {
    expect(cache.note(3)).toBe(false);
    cache.accept(routingOf(5), at(10_000));
    expect(cache.note(5)).toBe(false);
    expect(cache.note(4)).toBe(false);
    expect(cache.query()).toEqual({ metadataVersion: 5, maxObservedVersion: 5 });
  });
});
