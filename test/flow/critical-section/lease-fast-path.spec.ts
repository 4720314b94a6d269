import { beforeEach, describe, expect, it } from '@jest/globals';
import type { HeartbeatView } from '../../../src/domain/coordinator/heartbeat-reply';
import type { MemberId } from '../../../src/domain/ids';
import type { HeartbeatRequest } from '../../../src/domain/membership/heartbeat-request';
import { StoreError } from '../../../src/store/metadata-store';
import { settle } from './fake-clock';
import { answerOf, SectionWorld, type Coordinator } from './section-world';
import { bump } from './tiny-commands';

const MEMBERS = ['m-1', 'm-2', 'm-3'];

describe('heartbeats that change nothing', () => {
  let world: SectionWorld;
  let coordinator: Coordinator;
  let views: Map<string, HeartbeatView>;

  beforeEach(async () => {
    world = new SectionWorld();
    coordinator = world.coordinator();
    await coordinator.createGroup(3);
    views = new Map();
    for (const name of MEMBERS) views.set(name, await coordinator.join(name));
    await drainUntilStable();
    coordinator.calls.length = 0;
  });

  /** Everybody releases at once what he must, until all is still. */
  async function drainUntilStable(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      for (const name of MEMBERS) views.set(name, answerOf(await beat(name, coordinator)));
    }
    await settle();
  }

  function requestOf(name: string): Partial<HeartbeatRequest> & { readonly memberId: MemberId } {
    const { memberEpoch, metadataVersion, assigned } = views.get(name)!;
    const owned = new Set(assigned.map(({ shard }) => shard));
    return { memberId: name as MemberId, memberEpoch, metadataVersion, owned, revoking: new Map() };
  }

  function beat(name: string, by: Coordinator) {
    return by.heartbeat(requestOf(name));
  }

  function leaseOf(name: string): number {
    return Number(world.node.groups.get('orders:billing')?.leases.get(name));
  }

  it('renew their leases in one call together, and write nothing else', async () => {
    const stored = world.node.groups.get('orders:billing');
    const before = leaseOf('m-1');
    await world.clock.advance(3_000);
    coordinator.pass();
    const answers = await Promise.all(MEMBERS.map((name) => beat(name, coordinator)));
    expect(answers.map((answer) => answerOf(answer).status)).toEqual(['OK', 'OK', 'OK']);
    expect(coordinator.calls).toEqual(['renewLeases']);
    expect(leaseOf('m-1')).toBe(before + 3_000);
    expect(world.node.groups.get('orders:billing')?.revision).toBe(stored?.revision);
  });

  it('share the next call when one is under way: four calls for sixty-four', async () => {
    const calls: Promise<unknown>[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      for (let index = 0; index < 16; index += 1) calls.push(beat(MEMBERS[index % 3]!, coordinator));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(calls);
    expect(coordinator.calls.length).toBeLessThanOrEqual(4);
    expect(new Set(coordinator.calls)).toEqual(new Set(['renewLeases']));
  });

  it('are gathered behind a call: the first goes out at once, the next when five wait or the time is over', async () => {
    const gathering = world.coordinator({ limits: { gatherMs: 20 } });
    await gathering.heartbeat(requestOf('m-1')); // a section: it knows the group from here on
    gathering.calls.length = 0;
    await beat('m-1', gathering);
    const five = Array.from({ length: 5 }, (_, index) => beat(MEMBERS[index % 3]!, gathering));
    await Promise.all(five);
    expect(gathering.calls).toEqual(['renewLeases', 'renewLeases']);
    const late = [beat('m-2', gathering), beat('m-3', gathering)];
    await world.clock.advance(19);
    expect(gathering.calls).toHaveLength(2);
    await world.clock.advance(1);
    await Promise.all(late);
    expect(gathering.calls).toHaveLength(3);
  });

  it('have one call of a group under way at a time', async () => {
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => (release = resolve));
    coordinator.before = () => isHeld;
    const first = beat('m-1', coordinator);
    await settle();
    const later = [beat('m-2', coordinator), beat('m-3', coordinator)];
    await settle();
    expect(coordinator.calls).toEqual(['renewLeases']);
    release();
    await Promise.all([first, ...later]);
    expect(coordinator.calls).toEqual(['renewLeases', 'renewLeases']);
  });

  it('go through a section when the group moved elsewhere, and by the fast path again afterwards', async () => {
    await world.coordinator().run(bump());
    const answers = await Promise.all(MEMBERS.map((name) => beat(name, coordinator)));
    expect(answers.map((answer) => answerOf(answer).status)).toEqual(['OK', 'OK', 'OK']);
    expect(coordinator.calls).toEqual(['renewLeases', 'lockAndLoad', 'commitAndUnlock']);
    await settle();
    coordinator.calls.length = 0;
    await beat('m-1', coordinator);
    expect(coordinator.calls).toEqual(['renewLeases']);
  });

  it('go through a section when the lease has run out in Redis: nothing is revived', async () => {
    world.redisAheadMs += 16_000; // unseen by the coordinator until its next call
    const answer = answerOf(await beat('m-1', coordinator));
    expect(coordinator.calls.slice(0, 2)).toEqual(['renewLeases', 'lockAndLoad']);
    expect(answer.status).toBe('OK'); // the clock jumped: a quiet period, nobody is expired
  });

  it('go through a section when they are not known to change nothing', async () => {
    await coordinator.heartbeat({ ...requestOf('m-1'), maxConcurrency: 0 });
    expect(coordinator.calls).toEqual(['lockAndLoad', 'commitAndUnlock']);
    coordinator.calls.length = 0;
    await coordinator.heartbeat({ ...requestOf('m-2'), memberEpoch: 1 }); // refused: renews nothing
    expect(coordinator.calls[0]).toBe('lockAndLoad');
  });

  it('are rejected together when Redis cannot be asked, those that queued behind them too', async () => {
    coordinator.before = () => {
      throw new StoreError('renew', 'TIMEOUT', true, { cause: new Error('slow') });
    };
    const outcomes = await Promise.allSettled(MEMBERS.map((name) => beat(name, coordinator)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(coordinator.calls).toEqual(['renewLeases']);
    expect(coordinator.assembly.loopView.hasConnectionErrorSincePass).toBe(true);
  });

  it('are refused at termination when they were not sent yet, and answered when they were', async () => {
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => (release = resolve));
    coordinator.before = () => isHeld;
    const sent = beat('m-1', coordinator);
    await settle();
    const queued = beat('m-2', coordinator).catch((error: unknown) => error);
    const ended = coordinator.assembly.section.terminate(1_000);
    expect(await queued).toMatchObject({ code: 'COORDINATOR_TERMINATING' });
    await expect(beat('m-3', coordinator)).rejects.toMatchObject({ code: 'COORDINATOR_TERMINATING' });
    release();
    expect(answerOf(await sent).status).toBe('OK');
    expect(await ended).toBe(true);
  });
});
