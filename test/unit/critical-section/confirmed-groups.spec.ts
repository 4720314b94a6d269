import { describe, expect, it } from '@jest/globals';
import { ConfirmedGroups } from '../../../src/critical-section/confirmed-groups';
import type { GroupState } from '../../../src/domain/coordinator/decision';
import type { StoreRevision } from '../../../src/domain/epochs';
import type { GroupMetadata } from '../../../src/domain/group/group-metadata';
import { newGroup } from '../../../src/domain/group/new-group';
import type { Incarnation, MemberId, WriteId } from '../../../src/domain/ids';
import type { EpochMillis } from '../../../src/domain/time';
import { KEY } from '../../flow/critical-section/section-world';

const at = (ms: number) => ms as EpochMillis;
const MEMBER = 'm-1' as MemberId;

function stateAt(
  revision: number,
  life = 'life-1',
  shardCount = 2,
): GroupState & { metadata: GroupMetadata } {
  const incarnation = life as Incarnation;
  const created = { nowMs: at(1), drawMs: at(1), redisId: 'node-1/repl-1' };
  const metadata = newGroup({ key: KEY, incarnation, shardCount, grantsFromMs: null }, created);
  return {
    metadata: { ...metadata, storeRevision: revision as StoreRevision },
    leases: new Map([[MEMBER, at(100)]]),
  };
}

const MISSING: GroupState = { metadata: null, leases: new Map() };

describe('the memory of confirmed groups', () => {
  it('takes what was read under the lock, even an older revision', () => {
    const groups = new ConfirmedGroups();
    groups.confirmLocked('g', stateAt(5), null);
    groups.confirmLocked('g', stateAt(3), null);
    expect(groups.get('g')?.metadata.storeRevision).toBe(3);
  });

  it('keeps the newer revision when a read without the lock was overtaken', () => {
    const groups = new ConfirmedGroups();
    groups.confirmLocked('g', stateAt(5), null);
    groups.confirmRead('g', stateAt(4));
    expect(groups.get('g')?.metadata.storeRevision).toBe(5);
    groups.confirmRead('g', stateAt(6));
    expect(groups.get('g')?.metadata.storeRevision).toBe(6);
  });

  it('keeps its own when a read shows another write of the same revision: that is for a section to judge', () => {
    const groups = new ConfirmedGroups();
    const own = stateAt(5);
    groups.confirmLocked('g', own, null);
    groups.confirmRead('g', { ...own, metadata: { ...own.metadata, writeId: 'another' as WriteId } });
    expect(groups.get('g')?.metadata).toBe(own.metadata);
  });

  it('forgets a group that is missing under the lock, and doubts one that was missing in a read', () => {
    const groups = new ConfirmedGroups();
    groups.confirmLocked('g', stateAt(5), null);
    groups.confirmRead('g', MISSING);
    expect(groups.get('g')?.isStale).toBe(true);
    groups.confirmLocked('g', MISSING, null);
    expect(groups.size).toBe(0);
  });

  it('enters renewals of the value that they were made on, and no others', () => {
    const groups = new ConfirmedGroups();
    const first = stateAt(5);
    groups.confirmLocked('g', first, null);
    groups.renewed('g', first.metadata, new Map([[MEMBER, at(200)]]));
    expect(groups.get('g')?.leases.get(MEMBER)).toBe(200);
    expect(first.leases.get(MEMBER)).toBe(100); // the state that was handed in is its owner's
    groups.confirmLocked('g', stateAt(6), null);
    groups.renewed('g', first.metadata, new Map([[MEMBER, at(300)]]));
    expect(groups.get('g')?.leases.get(MEMBER)).toBe(100);
  });

  it('doubts the value that turned out stale, and no newer one', () => {
    const groups = new ConfirmedGroups();
    const first = stateAt(5);
    groups.confirmLocked('g', first, null);
    const second = stateAt(6);
    groups.confirmLocked('g', second, null);
    groups.markStale('g', first.metadata);
    expect(groups.get('g')?.isStale).toBe(false);
    groups.markStale('g', second.metadata);
    expect(groups.get('g')?.isStale).toBe(true);
  });

  it('keeps what it knows of the index within one life of the group', () => {
    const groups = new ConfirmedGroups();
    groups.confirmLocked('g', stateAt(5), at(1_000));
    groups.confirmLocked('g', stateAt(6), null);
    expect(groups.get('g')?.indexedDueMs).toBe(1_000);
    groups.confirmLocked('g', stateAt(7, 'life-2'), null);
    expect(groups.get('g')?.indexedDueMs).toBeNull();
  });

  it('forgets the least recently used beyond its number of groups', () => {
    const groups = new ConfirmedGroups({ maxGroups: 2, maxWeight: 1_000 });
    const first = stateAt(1);
    groups.confirmLocked('a', first, null);
    groups.confirmLocked('b', stateAt(1), null);
    groups.renewed('a', first.metadata, new Map()); // used
    groups.confirmLocked('c', stateAt(1), null);
    expect(['a', 'b', 'c'].filter((text) => groups.get(text) !== undefined)).toEqual(['a', 'c']);
  });

  it('forgets beyond its number of shards and members, but never the only one', () => {
    const groups = new ConfirmedGroups({ maxGroups: 10, maxWeight: 10 });
    groups.confirmLocked('a', stateAt(1, 'life-1', 5), null);
    groups.confirmLocked('b', stateAt(1, 'life-1', 5), null);
    expect([groups.get('a'), groups.size]).toEqual([undefined, 1]);
    groups.confirmLocked('huge', stateAt(1, 'life-1', 500), null);
    expect(groups.size).toBe(1);
    expect(groups.get('huge')).toBeDefined();
  });
});
