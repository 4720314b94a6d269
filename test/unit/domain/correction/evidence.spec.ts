import { describe, expect, it } from '@jest/globals';
import { onFenceMember } from '../../../../src/domain/coordinator/on-admin';
import { betraysLoss, onRoutingRead } from '../../../../src/domain/coordinator/on-routing';
import { isLostVersion } from '../../../../src/domain/correction/evidence';
import type { MemberId } from '../../../../src/domain/ids';
import { GroupWorld, LEASE_MS } from '../../../support/group-world';

/** Two members that share two shards; every write so far is in `recentVersions`. */
function settled() {
  const world = GroupWorld.withShards(2);
  const [a, b] = [world.member('a'), world.member('b')];
  a.join();
  a.beat();
  world.advance(10);
  b.join();
  const [moving] = a.beat().revoking;
  a.beat({ revoked: [moving as number] });
  b.beat();
  a.beat();
  return { world, a, b };
}

describe('evidence that Redis lost writes', () => {
  it('is another Redis id, seen by whichever command comes first', () => {
    const { world } = settled();
    world.redisId = 'redis-2';
    world.tick();
    expect(world.metadata).toMatchObject({ redisId: 'redis-2', correction: { cause: 'REDIS_ID' } });
    expect(world.lastEffects).toMatchObject([{ kind: 'CORRECTION', event: 'STARTED', cause: 'REDIS_ID' }]);
  });

  it('is a higher revision of this life that this process remembers, or the same one of another write', () => {
    for (const ahead of [1, 0]) {
      const { world } = settled();
      const { incarnation, storeRevision } = world.metadata;
      world.remembered = {
        incarnation,
        storeRevision: (storeRevision + ahead) as never,
        writeId: 'x' as never,
      };
      world.tick();
      expect(world.metadata.correction?.cause).toBe('REVISION');
    }
  });

  it('is no revision of another life, nor a lower one', () => {
    const { world } = settled();
    const { incarnation, storeRevision, writeId } = world.metadata;
    world.remembered = {
      incarnation: 'other' as never,
      storeRevision: (storeRevision + 9) as never,
      writeId,
    };
    world.tick();
    world.remembered = { incarnation, storeRevision: (storeRevision - 1) as never, writeId: 'x' as never };
    world.tick();
    expect(world.metadata.correction).toBeNull();
  });

  it('is a version that this history never had, above or between its own', () => {
    const { world, a } = settled();
    const { recentVersions } = world.metadata;
    const [oldest = 0] = recentVersions;
    expect(isLostVersion(world.metadata, a.version + 1)).toBe(true);
    expect(isLostVersion(world.metadata, a.version)).toBe(false);
    expect(recentVersions.some((version) => isLostVersion(world.metadata, version))).toBe(false);
    expect(isLostVersion(world.metadata, oldest - 1)).toBe(false); // older than what is remembered: cannot be told
    const gap = recentVersions.findIndex((version, i) => i > 0 && version - (recentVersions[i - 1] ?? 0) > 1);
    expect(isLostVersion(world.metadata, (recentVersions[gap] ?? 0) - 1)).toBe(true);
  });

  it('of the version that started a round, or of an older one that was lost before it, starts no other', () => {
    const { world, a } = settled();
    const lost = world.metadata.metadataVersion + 5;
    world.advance(50);
    a.reply({ owned: [], metadataVersion: lost });
    expect(isLostVersion(world.metadata, lost)).toBe(false);
    expect(isLostVersion(world.metadata, lost + 1)).toBe(false); // below the round's version
    expect(isLostVersion(world.metadata, world.metadata.metadataVersion + 1)).toBe(true);
  });

  it('of a member starts one round in four leases; of strangers together one per lease', () => {
    const { world, a, b } = settled();
    const show = () =>
      world.member('stranger').reply({ memberEpoch: 7, metadataVersion: world.metadata.metadataVersion + 9 });
    show();
    const first = world.metadata.correction?.roundVersion;
    world.pass(LEASE_MS - 1, [a, b]);
    world.pass(LEASE_MS, [a, b]); // the round ends
    expect(world.metadata.correction).toBeNull();
    show();
    const second = world.metadata.correction?.roundVersion;
    expect(second).toBeGreaterThan(first ?? 0);
    world.pass(LEASE_MS, [a, b]);
    expect(world.metadata.correction).toBeNull();
    world.state = {
      ...world.state,
      metadata: {
        ...world.metadata,
        rounds: { ...world.metadata.rounds, strangerAtMs: world.nowMs as never },
      },
    };
    show();
    expect(world.metadata.correction).toBeNull();
  });

  // Two publishers with a version store of another Redis, by turns.
  it('of strangers with different versions above the recorded one starts no round for each of them in turn', () => {
    const { world, a, b } = settled();
    const shown = [world.nowMs + 500_000, world.nowMs + 600_000];
    const starts: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      world.apply(onRoutingRead({ metadataVersion: 1, maxObservedVersion: shown[round % 2] ?? 0 }));
      if (world.lastEffects.some(({ kind }) => kind === 'CORRECTION')) starts.push(round);
      world.pass(LEASE_MS, [a, b]);
      world.pass(LEASE_MS, [a, b]);
    }
    expect(starts.length).toBeLessThanOrEqual(2);
    expect(world.metadata.correction).toBeNull();
  });

  it('is no version of a stranger that no clock can have given out: it is reported, and starts nothing', () => {
    const { world } = settled();
    const before = world.state.metadata;
    const invented = { metadataVersion: 1, maxObservedVersion: Number.MAX_SAFE_INTEGER };
    expect(world.apply(onRoutingRead(invented))).toBe(before);
    expect(world.lastEffects).toMatchObject([{ kind: 'ALERT', alert: 'INVENTED_VERSION' }]);
  });

  it('of a member that has told what it reads ends its tenure, for four leases', () => {
    const { world, a, b } = settled();
    a.reply({ owned: [], metadataVersion: world.metadata.metadataVersion + 5 });
    world.pass(LEASE_MS, [a, b]);
    world.pass(LEASE_MS, [a, b]);
    expect(world.metadata.correction).toBeNull();
    const invented = world.metadata.metadataVersion + 5;
    expect(a.reply({ owned: [], metadataVersion: invented })).toMatchObject({
      status: 'FENCED_MEMBER_EPOCH',
    });
    expect(world.lastEffects).toMatchObject([{ kind: 'ALERT', alert: 'UNKNOWN_VERSION_AGAIN' }]);
    expect(world.metadata.correction).toBeNull();
    world.pass(5 * LEASE_MS, [b]);
    expect(b.reply({ owned: [], metadataVersion: world.metadata.metadataVersion + 5 })).toMatchObject({
      status: 'SYNC_METADATA',
    });
  });

  it('makes an admin mutation start the round and be refused', () => {
    const { world } = settled();
    world.redisId = 'redis-2';
    const result = world.apply(onFenceMember({ memberId: 'a' as MemberId, expectedVersion: null }));
    expect(result).toMatchObject({ ok: false, refusal: { code: 'METADATA_CORRECTION_ACTIVE' } });
    expect(world.metadata.correction?.cause).toBe('REDIS_ID');
    expect(world.metadata.members.get('a' as MemberId)?.state).toBe('ACTIVE');
  });

  it('of a routing read starts a round too; one without evidence changes nothing', () => {
    const { world } = settled();
    const before = world.state.metadata;
    const seen = { metadataVersion: world.metadata.metadataVersion, maxObservedVersion: null };
    expect(betraysLoss(world.metadata, 'redis-1', seen)).toBe(false);
    expect(world.apply(onRoutingRead(seen))).toBe(before);
    const lost = { ...seen, maxObservedVersion: seen.metadataVersion + 3 };
    expect(betraysLoss(world.metadata, 'redis-1', lost)).toBe(true);
    expect(betraysLoss(world.metadata, 'redis-2', seen)).toBe(true);
    world.advance(50);
    expect(world.apply(onRoutingRead(lost))?.metadataVersion).toBeGreaterThan(lost.maxObservedVersion);
    expect(world.metadata.correction?.cause).toBe('UNKNOWN_VERSION');
  });
});
