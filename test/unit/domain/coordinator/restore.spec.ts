import { describe, expect, it } from '@jest/globals';
import { onCompleteProvisioning, onCreateGroup } from '../../../../src/domain/coordinator/on-admin';
import { onRestoreGroup } from '../../../../src/domain/coordinator/on-restore';
import type { Incarnation } from '../../../../src/domain/ids';
import { assignedShards, GroupWorld, LEASE_MS } from '../../../support/group-world';

/** `a` is in the export; `b` joined after it, and was given a shard. */
function lostAfterExport() {
  const world = GroupWorld.withShards(2);
  const a = world.member('a');
  a.join();
  a.beat();
  const exported = world.metadata;
  world.advance(1_000);
  const b = world.member('b');
  b.join();
  const moving = Number(a.beat().revoking[0]);
  a.beat({ revoked: [moving] });
  b.beat();
  a.beat();
  world.advance(100); // the clock is ahead of every lost number
  return { world, a, b, exported };
}

describe('a restored group', () => {
  it('comes back into a correction round, and to OK while its members go on', () => {
    const { world, a, b, exported } = lostAfterExport();
    world.state = { metadata: null, leases: new Map() };
    expect(world.apply(onRestoreGroup(exported))).toMatchObject({ ok: true });
    expect(world.lastEffects.map(({ kind }) => kind)).toEqual(['CORRECTION', 'PROVISION']);
    world.apply(onCompleteProvisioning());
    expect(b.beat().status).toBe('UNKNOWN_MEMBER_ID'); // it stops, and joins anew
    expect(a.beat().status).toBe('SYNC_METADATA');
    b.reading = [];
    b.join({ metadataVersion: b.version, maxObservedVersion: b.version, instanceId: 'b-2' as never });
    const startedAtMs = world.nowMs;
    while (world.metadata.correction !== null) {
      expect(world.heldBy('b')).toEqual([]);
      world.advance(1_000);
      a.beat();
      b.beat();
    }
    expect(world.nowMs - startedAtMs).toBeGreaterThanOrEqual(LEASE_MS);
    a.beat();
    a.beat();
    expect(assignedShards(b.beat())).toHaveLength(1);
    expect(a.beat()).toMatchObject({ status: 'OK', revoking: [] });
  });

  it('gives every number above those of the export', () => {
    const { world, exported } = lostAfterExport();
    world.state = { metadata: null, leases: new Map() };
    world.apply(onRestoreGroup(exported));
    expect(world.metadata.storeRevision).toBeGreaterThan(exported.storeRevision);
    expect(world.metadata.metadataVersion).toBeGreaterThan(exported.metadataVersion);
    expect(world.metadata.shards[0]?.lastToken).toBeGreaterThan(exported.shards[0]?.lastToken ?? 0);
  });

  it('replaces an older value with its leases, and never a newer one', () => {
    const { world, exported } = lostAfterExport();
    const newer = world.state;
    expect(world.apply(onRestoreGroup(exported))).toMatchObject({
      ok: false,
      refusal: { code: 'STATE_CONFLICT', currentVersion: world.metadata.metadataVersion },
    });
    expect(world.state.metadata).toBe(newer.metadata);
    const latest = world.metadata;
    world.state = { metadata: exported, leases: new Map([...newer.leases].slice(0, 1)) };
    world.apply(onRestoreGroup(latest));
    expect([...world.state.leases.keys()].sort()).toEqual(['a', 'b']);
  });
});

describe('a group that is created again after its metadata was lost', () => {
  it('grants nothing for one lease when this process remembers its former life', () => {
    const { world } = lostAfterExport();
    const { incarnation, storeRevision, writeId, streamPrefix, consumerGroup } = world.metadata;
    world.state = { metadata: null, leases: new Map() };
    world.remembered = { incarnation, storeRevision, writeId };
    const key = { streamPrefix, consumerGroup };
    world.apply(
      onCreateGroup({ key, incarnation: 'life-2' as Incarnation, shardCount: 2, grantsFromMs: null }),
    );
    world.remembered = null;
    world.apply(onCompleteProvisioning());
    const c = world.member('c');
    c.join();
    expect(c.beat().assigned).toEqual([]);
    world.pass(LEASE_MS, [c]);
    expect(assignedShards(c.beat())).toEqual([0, 1]);
  });
});
