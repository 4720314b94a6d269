import { describe, expect, it } from '@jest/globals';
import { explainGroup, type ShardExplanation } from '../../../../src/domain/group/explain';
import { stallAfterMs, WAIT_REASONS, type WaitContext } from '../../../../src/domain/group/shard-wait';
import type { InstanceId, MemberId, ShardIndex } from '../../../../src/domain/ids';
import type { EpochMillis } from '../../../../src/domain/time';
import { DRAIN_MS, type FakeMember, GroupWorld, LEASE_MS } from '../../../support/group-world';

type Explained = ShardExplanation & { readonly reason: string | null };

function contextOf(world: GroupWorld, more: Partial<WaitContext> = {}): WaitContext {
  const heard = [...world.state.leases].map(([memberId, endMs]) => [memberId, endMs - LEASE_MS] as const);
  return {
    nowMs: world.nowMs as EpochMillis,
    timing: world.context().timing,
    mayEndTenures: world.mayEndTenures,
    mayGrant: world.mayGrant,
    quiet: null,
    heardAtMs: new Map(heard as [MemberId, EpochMillis][]),
    flows: new Map(),
    ...more,
  };
}

function explained(world: GroupWorld, more: Partial<WaitContext> = {}) {
  const { shards, ...rest } = explainGroup(world.metadata, world.state.leases, contextOf(world, more));
  const named = shards.map((shard): Explained => ({ ...shard, reason: shard.wait?.reason ?? null }));
  const seen = named.find(({ wait }) => wait !== null) ?? named[0];
  if (seen === undefined) throw new Error('the group has no shard');
  return { ...rest, shards: named, first: seen };
}

/** `a` reads all shards. */
function readingWorld(shardCount = 2): { world: GroupWorld; a: FakeMember } {
  const world = GroupWorld.withShards(shardCount);
  const a = world.member('a');
  a.join();
  a.beat();
  world.advance(1_000);
  return { world, a };
}

/** `a` reads both shards and is asked to let one go to `b`. */
function drainingWorld(): { world: GroupWorld; a: FakeMember; b: FakeMember; moving: number } {
  const { world, a } = readingWorld();
  const b = world.member('b');
  b.join();
  const [moving = -1] = a.beat().revoking.map(Number);
  return { world, a, b, moving };
}

/** The drain goes on to its deadline, with everybody heartbeating. */
function passDrain(
  world: GroupWorld,
  { a, b, moving }: { a: FakeMember; b: FakeMember; moving: number },
): void {
  const endMs = world.nowMs + DRAIN_MS;
  while (world.nowMs < endMs) {
    world.advance(Math.min(LEASE_MS / 3, endMs - world.nowMs));
    b.beat();
    if (world.nowMs < endMs) a.beat({ draining: [moving] });
  }
}

describe('the explanation of a group', () => {
  it('has no reason for a shard that its target reads', () => {
    const { world } = readingWorld();
    const { shards, members, outlook } = explained(world);
    expect(outlook).toBeNull();
    expect(shards).toMatchObject([
      { index: 0, holder: 'a', waiting: null, wait: null },
      { index: 1, holder: 'a', waiting: null, wait: null },
    ]);
    expect(members).toMatchObject([
      {
        memberId: 'a',
        state: 'ACTIVE',
        hasTold: null,
        pending: [],
        reasons: [],
        waitsFor: [],
        untilMs: null,
      },
    ]);
    expect(members[0]?.leaseRemainingMs).toBe(LEASE_MS - 1_000);
  });

  it('WAITING_FOR_REVOKE: who drains, who waits, since when, until which deadline', () => {
    const { world, moving } = drainingWorld();
    const askedMs = world.nowMs;
    world.advance(2_000);
    const { shards, members } = explained(world);
    expect(shards[moving]).toMatchObject({
      holder: 'a',
      waiting: 'b',
      wait: { reason: 'WAITING_FOR_REVOKE', sinceMs: askedMs, untilMs: askedMs + DRAIN_MS, by: ['a'] },
    });
    expect(members).toMatchObject([
      { memberId: 'a', revoking: [moving], pending: [] },
      {
        memberId: 'b',
        pending: [moving],
        reasons: ['WAITING_FOR_REVOKE'],
        waitsFor: ['a'],
        untilMs: askedMs + DRAIN_MS,
      },
    ]);
  });

  it('WAITING_FOR_LEASE: the tenure that was fenced reads on until the end of its recorded lease', () => {
    const draining = drainingWorld();
    const { world, moving } = draining;
    passDrain(world, draining);
    const fencedMs = world.nowMs;
    const { shards, members } = explained(world);
    expect(members[0]).toMatchObject({ memberId: 'a', state: 'FENCED', leaseRemainingMs: null });
    expect(shards[moving]).toMatchObject({
      holder: 'a',
      waiting: 'b',
      wait: { reason: 'WAITING_FOR_LEASE', sinceMs: fencedMs, by: ['a'] },
    });
    expect(shards[moving]?.wait?.untilMs).toBeGreaterThan(fencedMs);
  });

  it('WAITING_FOR_LEASE: of a tenure that was replaced, while the newcomer has just joined', () => {
    const { world } = readingWorld();
    const again = world.member('a');
    again.join({ instanceId: 'a-2' as InstanceId });
    const wait = { reason: 'WAITING_FOR_LEASE', sinceMs: world.nowMs, by: ['a'] };
    expect(explained(world).first).toMatchObject({ holder: 'a', waiting: 'a', wait });
    again.beat();
    expect(explained(world).first).toMatchObject({ wait: { ...wait, sinceMs: null } });
  });

  it('WAITING_FOR_LEASE: members of a former life of the group may still read', () => {
    const { world } = readingWorld();
    const grantsFromMs = (world.nowMs + 5_000) as EpochMillis;
    const { createdAtMs } = world.metadata;
    const [held] = world.metadata.shards;
    const shards = [{ ...held!, occupancy: { kind: 'FREE' } as const }];
    world.state = { ...world.state, metadata: { ...world.metadata, shards, grantsFromMs } };
    expect(explained(world).first).toMatchObject({
      holder: null,
      waiting: 'a',
      wait: { reason: 'WAITING_FOR_LEASE', sinceMs: createdAtMs, untilMs: grantsFromMs, by: [] },
    });
  });

  it('QUIET_PERIOD: nobody is expired, though the owner is silent', () => {
    const { world } = readingWorld();
    world.advance(LEASE_MS + 1_000);
    world.mayEndTenures = false;
    const quiet = {
      sinceMs: (world.nowMs - 500) as EpochMillis,
      untilMs: (world.nowMs + 500) as EpochMillis,
    };
    expect(explained(world, { quiet }).first).toMatchObject({
      holder: 'a',
      wait: { reason: 'QUIET_PERIOD', ...quiet, by: ['a'] },
    });
  });

  it('QUIET_PERIOD: a drain or a block is over, and nobody may be fenced or blocked off yet', () => {
    const draining = drainingWorld();
    const { world, moving } = draining;
    world.mayEndTenures = false;
    passDrain(world, draining);
    expect(explained(world).shards[moving]?.reason).toBe('QUIET_PERIOD');
    world.mayEndTenures = true;
    world.tick();
    expect(explained(world).shards[moving]?.reason).toBe('WAITING_FOR_LEASE');
    world.advance(LEASE_MS);
    world.mayEndTenures = false;
    expect(explained(world).shards[moving]).toMatchObject({ reason: 'QUIET_PERIOD', wait: { by: ['a'] } });
  });

  it('QUIET_PERIOD without an end: this coordinator may grant only after its event loop has passed', () => {
    const world = GroupWorld.withShards(1);
    world.mayGrant = false;
    world.mayEndTenures = false;
    world.member('a').join();
    expect(explained(world).first).toMatchObject({
      holder: null,
      waiting: 'a',
      wait: { reason: 'QUIET_PERIOD', sinceMs: null, untilMs: null, by: [] },
    });
  });

  it('PROVISIONING: the streams do not all exist', () => {
    const { world } = readingWorld();
    const [held] = world.metadata.shards;
    const shards = [{ ...held!, occupancy: { kind: 'FREE' } as const }];
    world.state = { ...world.state, metadata: { ...world.metadata, shards, provisioning: 'PENDING' } };
    const { createdAtMs } = world.metadata;
    const wait = { reason: 'PROVISIONING', sinceMs: createdAtMs, untilMs: null, by: [] };
    expect(explained(world).first).toMatchObject({ holder: null, waiting: 'a', wait });
  });

  it('NO_ELIGIBLE_MEMBER: nobody is there, or takes shards', () => {
    const world = GroupWorld.withShards(1);
    const none = { holder: null, waiting: null, reason: 'NO_ELIGIBLE_MEMBER' };
    expect(explained(world).first).toMatchObject(none);
    world.member('a').join({ maxConcurrency: 0 });
    expect(explained(world).first).toMatchObject(none);
  });

  it('DRAIN_ONLY: it is read, but nothing is routed to it', () => {
    const { world } = readingWorld(3);
    world.state = { ...world.state, metadata: { ...world.metadata, shardCount: 2 } };
    expect(explained(world).shards.map(({ reason }) => reason)).toEqual([null, null, 'DRAIN_ONLY']);
  });

  it('names no reason beyond the closed list', () => {
    expect([...WAIT_REASONS].sort()).toEqual([
      'CONFLICT',
      'DRAIN_ONLY',
      'NO_ELIGIBLE_MEMBER',
      'PROVISIONING',
      'QUIET_PERIOD',
      'STALLED',
      'WAITING_FOR_LEASE',
      'WAITING_FOR_REVOKE',
    ]);
  });
});

describe('the explanation of a correction round', () => {
  /** `a` alone held both shards; Redis lost the writes by which `b` joined and was given one of them. */
  function lostHandover() {
    const { world, a, b, moving } = drainingWorld();
    const beforeRelease = world.state;
    a.beat({ revoked: [moving] });
    b.beat();
    a.beat();
    world.advance(10);
    world.rollBack(beforeRelease);
    return { world, a, b, moving };
  }

  it('CONFLICT: by whom, and when it is over at the latest', () => {
    const { world, b, moving } = lostHandover();
    b.beat();
    const { shards, outlook, members } = explained(world);
    const startedMs = world.nowMs;
    const boundMs = startedMs + 2 * LEASE_MS + DRAIN_MS;
    expect(shards[moving]).toMatchObject({
      wait: { reason: 'CONFLICT', sinceMs: startedMs, untilMs: boundMs, by: ['b'] },
    });
    expect(outlook).toMatchObject({
      pendingMembers: ['a', 'b'],
      earliestEndMs: startedMs + LEASE_MS,
      boundMs,
      round: { cause: 'REDIS_ID', startedAtMs: startedMs },
    });
    expect(members.map(({ memberId, hasTold }) => [memberId, hasTold])).toEqual([
      ['a', false],
      ['b', false],
    ]);
    b.beat({ draining: [moving] });
    expect(explained(world).members[1]).toMatchObject({ memberId: 'b', hasTold: true });
  });

  it('WAITING_FOR_LEASE: a free shard waits for whom Redis may have forgotten, then for whom keeps the round open', () => {
    const { world, a, b, moving } = lostHandover();
    b.beat({ revoked: [moving], owned: [] });
    a.beat({ revoked: [moving] });
    a.beat({ revoked: [moving] });
    const { startedAtMs } = world.metadata.correction!;
    expect(explained(world).shards[moving]).toMatchObject({
      holder: null,
      waiting: 'b',
      wait: { reason: 'WAITING_FOR_LEASE', sinceMs: startedAtMs, untilMs: startedAtMs + LEASE_MS, by: ['b'] },
    });
    // `b` never sends its lists: it does not tell.
    for (let third = 0; third < 4; third += 1) {
      world.advance(LEASE_MS / 3);
      a.beat();
      b.beat({ owned: null });
    }
    expect(explained(world).shards[moving]).toMatchObject({
      wait: { reason: 'WAITING_FOR_LEASE', untilMs: startedAtMs + 2 * LEASE_MS + DRAIN_MS, by: ['b'] },
    });
  });

  it('names the instant at which who keeps the round open is fenced', () => {
    const { world, a, b } = lostHandover();
    a.beat();
    const { boundMs } = explained(world).outlook!;
    const stepMs = LEASE_MS / 5;
    for (; world.nowMs + stepMs < boundMs; world.advance(stepMs)) {
      a.beat();
      b.beat({ owned: null });
    }
    world.nowMs = boundMs - 1;
    world.tick();
    expect(world.metadata.members.get('b' as MemberId)?.state).toBe('ACTIVE');
    world.nowMs = boundMs;
    world.tick();
    expect(world.metadata.members.get('b' as MemberId)?.state).toBe('FENCED');
  });

  it('QUIET_PERIOD: its first lease expires nobody', () => {
    const { world, a } = lostHandover();
    world.advance(LEASE_MS - 1_000);
    a.beat();
    const { startedAtMs } = world.metadata.correction!;
    world.advance(LEASE_MS - 1);
    const held = explained(world).shards.filter(({ holder }) => holder === 'a');
    expect(held.length).toBeGreaterThan(0);
    world.state = {
      ...world.state,
      leases: new Map([...world.state.leases].map(([id]) => [id, world.nowMs as EpochMillis])),
    };
    for (const { index } of held)
      expect(explained(world).shards[index]).toMatchObject({
        wait: { reason: 'QUIET_PERIOD', sinceMs: startedAtMs, untilMs: startedAtMs + LEASE_MS },
      });
  });
});

describe('STALLED', () => {
  const shard = 0 as ShardIndex;
  const flow = { lag: 3, pendingCount: 0, lastMoveMs: null, oldestWaitingMs: null };
  const afterMs = stallAfterMs({ rebalanceTimeoutMs: DRAIN_MS });

  /** `a` has read for a long time, and heartbeats. */
  function oldWorld() {
    const { world, a } = readingWorld(1);
    const grantedMs = world.metadata.shards[0]!.lastToken as number;
    world.pass(3 * afterMs, [a]);
    a.beat();
    return { world, a, grantedMs };
  }
  const reasonOf = (world: GroupWorld, seen: Partial<typeof flow> | Record<string, unknown>): string | null =>
    explained(world, { flows: new Map([[shard, { ...flow, ...seen }]]) }).first.reason;

  it('tells since when nothing moves, while the owner heartbeats', () => {
    const { world } = oldWorld();
    const lastMoveMs = (world.nowMs - afterMs) as EpochMillis;
    const flows = new Map([[shard, { ...flow, pendingCount: 2, lastMoveMs }]]);
    expect(explained(world, { flows }).first).toMatchObject({
      holder: 'a',
      flow: { lag: 3, pendingCount: 2 },
      wait: { reason: 'STALLED', sinceMs: lastMoveMs, untilMs: null, by: ['a'] },
    });
  });

  it('is when entries wait that nobody is handed, since they came in', () => {
    const { world, grantedMs } = oldWorld();
    const at = (agoMs: number) => (world.nowMs - agoMs) as EpochMillis;
    expect(reasonOf(world, { oldestWaitingMs: at(afterMs) })).toBe('STALLED');
    expect(reasonOf(world, { oldestWaitingMs: at(afterMs - 1) })).toBeNull();
    expect(reasonOf(world, { oldestWaitingMs: at(afterMs), lastMoveMs: at(afterMs - 1) })).toBeNull();
    // What came in before the grant was another owner's.
    const flows = new Map([[shard, { ...flow, oldestWaitingMs: (grantedMs - 1) as EpochMillis }]]);
    expect(explained(world, { flows }).first.wait?.sinceMs).toBe(grantedMs);
  });

  it('is not when nothing waits, or Redis cannot tell', () => {
    const { world } = oldWorld();
    expect(reasonOf(world, { lag: 0, lastMoveMs: null })).toBeNull();
    expect(reasonOf(world, { lag: null })).toBeNull();
    expect(explained(world).first.reason).toBeNull();
  });

  it('is not while the owner is silent: its lease decides', () => {
    const { world } = oldWorld();
    world.advance(LEASE_MS);
    expect(reasonOf(world, { pendingCount: 2 })).toBeNull();
  });

  it('comes before DRAIN_ONLY', () => {
    const { world } = oldWorld();
    world.state = { ...world.state, metadata: { ...world.metadata, shardCount: 0 } };
    expect(reasonOf(world, {})).toBe('DRAIN_ONLY');
    expect(reasonOf(world, { pendingCount: 1 })).toBe('STALLED');
  });
});
