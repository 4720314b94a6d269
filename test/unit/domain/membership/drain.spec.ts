import { describe, expect, it } from '@jest/globals';

import type { FakeMember } from '../../../support/group-world';
import { assignedShards, DRAIN_MS, GroupWorld, LEASE_MS } from '../../../support/group-world';

/** `a` reads both shards, `b` has joined and waits for one, `a` has been told. */
function draining(): { world: GroupWorld; a: FakeMember; b: FakeMember; shard: number } {
  const world = GroupWorld.withShards(2);
  const a = world.member('a');
  const b = world.member('b');
  a.join();
  a.beat();
  b.join();
  const shard = a.beat().revoking[0];
  if (shard === undefined) throw new Error('nothing to drain');
  return { world, a, b, shard };
}

describe('drain', () => {
  it('keeps asking for the same drain until it is reported done', () => {
    const { a, b, shard } = draining();
    expect(a.beat({ draining: [shard] }).revoking).toEqual([shard]);
    expect(a.beat({ draining: [shard] }).revoking).toEqual([shard]);
    expect(assignedShards(b.beat())).toEqual([]);
  });

  it('grants the shard in the write that releases it, under a larger token', () => {
    const { world, a, b, shard } = draining();
    const before = world.metadata.shards[shard]?.lastToken ?? 0;
    a.beat({ revoked: [shard] });
    expect(world.heldBy('b')).toEqual([shard]);
    expect(b.beat().assigned[0]?.token).toBeGreaterThan(before);
  });

  it('releases nothing for REVOKED with an entry in flight', () => {
    const { world, a, shard } = draining();
    const request = a.request({ memberEpoch: a.epoch });
    world.heartbeat({ ...request, revoking: new Map([[shard as never, { state: 'REVOKED', inFlight: 1 }]]) });
    expect(world.heldBy('a')).toContain(shard);
  });

  it('ignores a late duplicate from before the drain was recorded', () => {
    const { world, a, shard } = draining();
    a.beat({ revoked: [shard], metadataVersion: world.metadata.metadataVersion - 1 });
    expect(world.heldBy('a')).toContain(shard);
  });

  it('treats a shard in neither of two present lists as let go: a grant whose answer was lost', () => {
    const { world, a, b, shard } = draining();
    a.beat({ owned: [1 - shard], revoked: [] });
    expect(world.heldBy('b')).toEqual([shard]);
    expect(assignedShards(b.beat())).toEqual([shard]);
  });

  it('treats absent lists as no news', () => {
    const { world, a, shard } = draining();
    a.beat({ owned: null });
    expect(world.heldBy('a')).toContain(shard);
  });

  it('ignores REVOKED of a shard that is held by another or assigned to the member', () => {
    const { world, a, b, shard } = draining();
    b.beat({ revoked: [shard] });
    expect(world.heldBy('a')).toEqual([0, 1]);
    a.beat({ revoked: [1 - shard], draining: [shard] });
    expect(world.heldBy('a')).toEqual([0, 1]);
  });

  it('gives a shard back to its holder when a newer target returns it', () => {
    const { world, a, b, shard } = draining();
    b.leave();
    const told = a.beat({ draining: [shard] });
    expect(assignedShards(told)).toEqual([0, 1]);
    expect(told.revoking).toEqual([]);
    expect(world.metadata.members.has('b' as never)).toBe(false);
  });

  it('ignores a late REVOKED after the shard was given back and drained again', () => {
    const { world, a, b, shard } = draining();
    const lateVersion = a.version;
    b.leave();
    a.beat({ draining: [shard] });
    world.advance(1);
    const c = world.member('c');
    c.join();
    const again = a.beat();
    expect(again.revoking).toHaveLength(1);
    a.beat({ revoked: again.revoking, metadataVersion: lateVersion });
    expect(world.heldBy('a')).toEqual([0, 1]);
  });

  it('does not restart the deadline for a newer target', () => {
    const { world, a, b, shard } = draining();
    const occupancy = () => world.metadata.shards[shard]?.occupancy;
    const deadline = occupancy();
    for (let waited = 0; waited < 20_000; waited += 5_000) {
      world.advance(5_000);
      a.beat({ draining: [shard] });
      b.beat();
    }
    world.member('c').join();
    expect(occupancy()).toEqual(deadline);
  });

  it('fences an endless drain at its deadline, and blocks its shards until the recorded lease ends', () => {
    const { world, a, b, shard } = draining();
    const deadlineMs = world.nowMs + DRAIN_MS;
    while (world.nowMs + 5_000 < deadlineMs) {
      world.advance(5_000);
      a.beat({ draining: [shard] });
      b.beat();
    }
    const leaseEndMs = world.nowMs + LEASE_MS;
    world.nowMs = deadlineMs - 1;
    world.tick();
    expect(world.metadata.members.get('a' as never)?.state).toBe('ACTIVE');
    world.nowMs = deadlineMs;
    b.beat();
    expect(world.metadata.members.get('a' as never)?.state).toBe('FENCED');
    expect(a.beat({ draining: [shard] }).status).toBe('FENCED_MEMBER_EPOCH');
    expect(assignedShards(b.beat())).toEqual([]);
    world.nowMs = leaseEndMs;
    world.tick();
    expect(assignedShards(b.beat())).toEqual([0, 1]);
  });

  it('does not fence after the drain was reported done', () => {
    const { world, a, b, shard } = draining();
    a.beat({ revoked: [shard] });
    for (let waited = 0; waited <= DRAIN_MS; waited += 5_000) {
      world.advance(5_000);
      expect(a.beat().status).toBe('OK');
      expect(b.beat().status).toBe('OK');
    }
  });
});
