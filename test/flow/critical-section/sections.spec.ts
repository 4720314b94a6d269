import { describe, expect, it } from '@jest/globals';
import { onDeleteGroup } from '../../../src/domain/coordinator/on-admin';
import type { MemberId } from '../../../src/domain/ids';
import { StoreError } from '../../../src/store/metadata-store';
import { settle } from './fake-clock';
import { answerOf, heartbeat, SectionWorld } from './section-world';
import { breaking, bump, failing, look } from './tiny-commands';

function lostConnection(): never {
  throw new StoreError('commit', 'CONNECTION', true, { cause: new Error('cut') });
}

describe('a section', () => {
  it('takes two round trips once the due time is known', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    await coordinator.run(bump());
    expect(coordinator.calls).toEqual(['lockAndLoad', 'commitAndUnlock']);
  });

  it('writes an earlier due time before the commit, as a third', async () => {
    const world = new SectionWorld();
    await world.coordinator().createGroup(4);
    const other = world.coordinator();
    await other.run(bump());
    expect(other.calls).toEqual(['lockAndLoad', 'bringForward', 'commitAndUnlock']);
  });

  it('writes nothing and unlocks when nothing changes', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const revision = coordinator.world.node.groups.get('orders:billing')?.revision;
    expect(String(await coordinator.run(look))).toBe(revision);
    await settle();
    expect(coordinator.calls).toEqual(['lockAndLoad', 'unlock']);
    expect(coordinator.world.node.lockOf('orders:billing')).toBeNull();
  });

  it('decides all that queued meanwhile in one write', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const replies = await Promise.all(Array.from({ length: 50 }, () => coordinator.run(bump())));
    expect(coordinator.calls.filter((call) => call === 'commitAndUnlock')).toHaveLength(1);
    expect(new Set(replies).size).toBe(1); // each answer shows what was written in the end
  });

  it('commits the others when one of a batch throws', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const outcomes = await Promise.allSettled(
      [bump(), failing, bump()].map((command) => coordinator.run(command)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('refuses what would break an invariant, and commits the others', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const outcomes = await Promise.allSettled(
      [bump(), breaking, bump()].map((command) => coordinator.run(command)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'INVARIANT_VIOLATION' } });
  });

  it('rejects the whole batch when the commit cannot be sent, and the next section goes on', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    coordinator.before = (call) => {
      if (call === 'commitAndUnlock') lostConnection();
    };
    const outcomes = await Promise.allSettled([bump(), bump()].map((command) => coordinator.run(command)));
    expect(outcomes).toMatchObject([
      { reason: { code: 'METADATA_STORE_UNAVAILABLE' } },
      { reason: { code: 'METADATA_STORE_UNAVAILABLE' } },
    ]);
    coordinator.before = () => undefined;
    await settle();
    await coordinator.run(bump());
  });

  it('writes nothing when the due time could not be written before, and gives the lock back', async () => {
    const world = new SectionWorld();
    await world.coordinator().createGroup(4);
    const revision = world.node.groups.get('orders:billing')?.revision;
    const coordinator = world.coordinator();
    coordinator.before = (call) => {
      if (call === 'bringForward') lostConnection();
    };
    await expect(coordinator.run(bump())).rejects.toMatchObject({ fault: 'CONNECTION' });
    await settle();
    expect(world.node.groups.get('orders:billing')?.revision).toBe(revision);
    expect(world.node.lockOf('orders:billing')).toBeNull();
    expect(coordinator.assembly.loopView.hasConnectionErrorSincePass).toBe(true);
  });

  it('goes on from what was written when the answer to the commit is lost', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const before = (await coordinator.run(look)) ?? 0;
    coordinator.after = (call) => {
      if (call === 'commitAndUnlock') lostConnection();
    };
    await expect(coordinator.run(bump())).rejects.toMatchObject({ fault: 'CONNECTION' });
    coordinator.after = () => undefined;
    expect(await coordinator.run(look)).toBe(before + 1);
  });

  it('decides again on the fresh state when another coordinator wrote, at most a bounded number of times', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    const other = world.coordinator();
    coordinator.before = async (call) => {
      if (call !== 'commitAndUnlock') return;
      world.clock.jump(2_900); // within the section's budget, but ...
      world.node.locks = new Map(); // ... the lock is gone
      await other.run(bump('other'));
    };
    await expect(coordinator.run(bump())).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect(coordinator.calls.filter((call) => call === 'commitAndUnlock')).toHaveLength(5);
  });
});

describe('an old coordinator that stalls past the lock TTL', () => {
  it('does not commit what it decided, and decides again on what another wrote meanwhile', async () => {
    const world = new SectionWorld();
    const old = world.coordinator();
    await old.createGroup(4);
    const next = world.coordinator();
    let isStalled = false;
    old.before = async (call) => {
      if (call !== 'commitAndUnlock' || isStalled) return;
      isStalled = true;
      world.clock.jump(6_000);
      next.pass();
      expect(answerOf(await next.heartbeat({ memberId: 'm-2' as MemberId })).assigned).toHaveLength(4);
    };
    const view = answerOf(await old.heartbeat({ memberId: 'm-1' as MemberId }));
    expect(isStalled).toBe(true);
    expect(view.assigned).toHaveLength(0); // m-2 was granted all, and holds them until it lets go
    expect(view.pending).toHaveLength(2);
  });

  it('does not even try to commit once its budget is over', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator({ limits: { sectionBudgetMs: 100 } });
    await coordinator.createGroup(4);
    let stalls = 1;
    coordinator.after = (call) => {
      if (call === 'lockAndLoad' && stalls-- > 0) world.clock.jump(101);
    };
    await coordinator.run(bump());
    expect(coordinator.calls).toEqual(['lockAndLoad', 'unlock', 'lockAndLoad', 'commitAndUnlock']);
  });
});

describe('the lease on which the end of a tenure was decided', () => {
  it('is compared by the commit: a renewal in between keeps the member', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    const { memberEpoch, metadataVersion } = await coordinator.join('m-1');
    const other = world.coordinator();
    await other.run(look); // remembers the group, so that it can renew
    await settle();
    await world.clock.advance(14_900);
    coordinator.pass();
    other.pass();
    let hasRenewed = false;
    coordinator.before = async (call) => {
      if (call !== 'commitAndUnlock' || hasRenewed) return;
      hasRenewed = true;
      // A renewal that reached Redis just before the lease ran out.
      world.node.groups = new Map(
        [...world.node.groups].map(([text, group]) => [
          text,
          { ...group, leases: new Map([['m-1', String(world.nowMs + 15_000)]]) },
        ]),
      );
    };
    world.clock.jump(200);
    const view = answerOf(await coordinator.heartbeat({ memberId: 'm-2' as MemberId }));
    expect(hasRenewed).toBe(true);
    expect(view.pending).toHaveLength(2);
    const still = await other.heartbeat({ memberId: 'm-1' as MemberId, memberEpoch, metadataVersion });
    expect(answerOf(still).status).toBe('OK');
  });
});

describe('after a connection error', () => {
  it('nothing is granted until the event loop has passed again', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    coordinator.assembly.loopView.recordConnectionError();
    const memberId = 'm-1' as MemberId;
    const joined = answerOf(await coordinator.heartbeat({ memberId }));
    expect([joined.assigned.length, joined.pending.length]).toEqual([0, 4]);
    coordinator.pass();
    const { memberEpoch, metadataVersion } = joined;
    const view = answerOf(await coordinator.heartbeat({ memberId, memberEpoch, metadataVersion }));
    expect(view.assigned).toHaveLength(4);
  });

  it('nobody is expired until the event loop has passed again', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    await coordinator.join('m-1');
    await world.clock.advance(16_000);
    const join = () => coordinator.heartbeat({ memberId: 'm-2' as MemberId });
    expect(answerOf(await join()).pending).toHaveLength(2); // its own last pass is too old to tell
    coordinator.pass();
    expect(answerOf(await join()).assigned).toHaveLength(4);
  });
});

describe('a Redis clock that jumps', () => {
  it('expires nobody for one lease', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    await coordinator.join('m-1');
    world.redisAheadMs += 3_600_000;
    coordinator.pass();
    const join = () => coordinator.heartbeat({ memberId: 'm-2' as MemberId });
    expect(answerOf(await join()).pending).toHaveLength(2);
    await world.clock.advance(14_999);
    coordinator.pass();
    expect(answerOf(await join()).pending).toHaveLength(2);
    await world.clock.advance(1);
    expect(answerOf(await join()).assigned).toHaveLength(4);
  });

  // Found by the simulation: to who only sees the time of the last write, every lease seems over.
  it('forward and back expires nobody by a coordinator that saw neither', async () => {
    const world = new SectionWorld();
    const [one, other] = [world.coordinator(), world.coordinator()];
    await one.createGroup(2);
    await one.join('m-1');
    world.redisAheadMs += 60_000;
    await one.heartbeat({ memberId: 'm-2' as MemberId });
    world.redisAheadMs -= 60_000;
    const stateOf = (name: string) => {
      const { metadata } = one.assembly.confirmed.get('orders:billing') ?? {};
      return metadata?.members.get(name as MemberId)?.state;
    };
    await other.heartbeat({ memberId: 'm-3' as MemberId });
    other.pass();
    await other.run(look);
    await one.run(look);
    expect(stateOf('m-3')).toBe('STARTING');
    expect(stateOf('m-1')).toBe('ACTIVE');
  });

  it('back never lets a section see an earlier time than the last write', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    const writtenAtMs = world.nowMs;
    world.redisAheadMs -= 60_000;
    const seen: number[] = [];
    await coordinator.run({
      ...look,
      decide: (state, context) => {
        seen.push(context.nowMs, context.drawMs);
        return look.decide(state, context);
      },
    });
    expect(world.nowMs).toBeLessThan(writtenAtMs);
    expect(seen[0]).toBe(writtenAtMs);
    expect(seen[1]).toBeGreaterThanOrEqual(writtenAtMs);
  });
});

describe('deleting a group', () => {
  it('drops it from the cache and, under the lock, from the index', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    await coordinator.run(onDeleteGroup({ force: true, expectedVersion: null }));
    await settle();
    expect(coordinator.world.node.groups.size).toBe(0);
    expect(coordinator.world.node.index.size).toBe(0);
    expect(coordinator.assembly.confirmed.size).toBe(0);
    expect(coordinator.calls).toEqual(['lockAndLoad', 'commitAndUnlock', 'lockAndLoad', 'remove', 'unlock']);
  });

  it('answers what queued behind it from the state without the group', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const [first, , third] = await Promise.all([
      coordinator.run(heartbeat({ memberId: 'm-1' as MemberId })),
      coordinator.run(onDeleteGroup({ force: true, expectedVersion: null })),
      coordinator.run(heartbeat({ memberId: 'm-2' as MemberId })),
    ]);
    expect(first.kind).toBe('ANSWER');
    expect(third).toMatchObject({ kind: 'REFUSED', code: 'GROUP_NOT_FOUND' });
  });
});
