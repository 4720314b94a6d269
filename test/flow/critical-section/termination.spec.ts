import { describe, expect, it } from '@jest/globals';
import { settle } from './fake-clock';
import { SectionWorld, type Coordinator } from './section-world';
import { bump, look } from './tiny-commands';

/** Holds the coordinator's calls of one kind until released. */
function hold(coordinator: Coordinator, held: string): () => void {
  let release: () => void = () => undefined;
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  coordinator.before = (call) => (call === held ? isReleased : undefined);
  return release;
}

describe('termination', () => {
  it('lets a section that holds the lock finish its write, and refuses those behind it at once', async () => {
    const coordinator = new SectionWorld().coordinator();
    await coordinator.createGroup(4);
    const release = hold(coordinator, 'commitAndUnlock');
    const holder = coordinator.run(bump());
    await settle();
    const waiter = coordinator.run(bump()).catch((error: unknown) => error);
    const ended = coordinator.assembly.section.terminate(10_000);
    expect(await waiter).toMatchObject({ code: 'COORDINATOR_TERMINATING', retryAfterMs: 1_000 });
    await expect(coordinator.run(look)).rejects.toMatchObject({ code: 'COORDINATOR_TERMINATING' });
    release();
    const version = await holder;
    expect(await ended).toBe(true);
    expect(await coordinator.world.coordinator().run(bump())).toBe(version + 1);
    expect(coordinator.assembly.gate.enteredCount).toBe(0);
  });

  it('refuses at once who asks for a lock that another coordinator holds', async () => {
    const world = new SectionWorld();
    const other = world.coordinator();
    await other.createGroup(4);
    const release = hold(other, 'commitAndUnlock');
    const holder = other.run(bump());
    await settle();
    const coordinator = world.coordinator();
    const waiter = coordinator.run(bump()).catch((error: unknown) => error);
    await world.clock.advance(100);
    expect(coordinator.calls.length).toBeGreaterThan(1); // it asked again and again
    const ended = coordinator.assembly.section.terminate(10_000);
    expect(await waiter).toMatchObject({ code: 'COORDINATOR_TERMINATING' });
    expect(await ended).toBe(true);
    release();
    await holder;
  });

  it('does not decide again after a lost commit', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    coordinator.before = (call) => {
      if (call !== 'commitAndUnlock') return;
      world.node.locks = new Map(); // lost
      coordinator.assembly.gate.close();
    };
    await expect(coordinator.run(bump())).rejects.toMatchObject({ code: 'COORDINATOR_TERMINATING' });
    expect(coordinator.calls).toEqual(['lockAndLoad', 'commitAndUnlock']);
  });

  it('answers everybody within the grace period though Redis is frozen', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(4);
    hold(coordinator, 'commitAndUnlock');
    const holder = coordinator.run(bump()).catch((error: unknown) => error);
    await settle();
    const ended = coordinator.assembly.section.terminate(7_000);
    await world.clock.advance(7_000);
    expect(await ended).toBe(false);
    expect(await holder).toMatchObject({ code: 'COORDINATOR_TERMINATING' });
  });
});

describe('a lock that another coordinator holds', () => {
  it('is asked for again with pauses of 5 to 50 ms, and had when it is free', async () => {
    const world = new SectionWorld();
    const other = world.coordinator();
    await other.createGroup(4);
    const release = hold(other, 'commitAndUnlock');
    const holder = other.run(bump());
    await settle();
    const coordinator = world.coordinator();
    const waiter = coordinator.run(bump());
    await world.clock.advance(1_000);
    const asked = coordinator.calls.length;
    expect(asked).toBeGreaterThanOrEqual(20);
    expect(asked).toBeLessThanOrEqual(200);
    release();
    const version = await holder;
    await world.clock.advance(50);
    expect(await waiter).toBe(version + 1);
  });

  it('is given up after its TTL and a margin', async () => {
    const world = new SectionWorld();
    const other = world.coordinator();
    await other.createGroup(4);
    const coordinator = world.coordinator();
    coordinator.before = () => {
      // Others always are faster.
      world.node.locks = new Map([['orders:billing', { token: 'other', untilMs: world.nowMs + 5_000 }]]);
    };
    const waiter = coordinator.run(bump()).catch((error: unknown) => error);
    await world.clock.advance(5_900);
    let isSettled = false;
    const settled = waiter.then(() => (isSettled = true));
    await settle();
    expect(isSettled).toBe(false);
    await world.clock.advance(200);
    await settled;
    expect(await waiter).toMatchObject({ code: 'METADATA_LOCK_TIMEOUT', retryable: true });
  });

  it('is outlived when its holder died', async () => {
    const world = new SectionWorld();
    const dead = world.coordinator();
    await dead.createGroup(4);
    hold(dead, 'commitAndUnlock');
    dead.run(bump()).catch(() => undefined);
    await settle();
    const next = world.coordinator();
    const waiters = [next.run(bump()), next.run(bump())];
    await world.clock.advance(5_100);
    await Promise.all(waiters);
  });
});
