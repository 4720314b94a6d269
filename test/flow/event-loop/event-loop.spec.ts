import { beforeEach, describe, expect, it } from '@jest/globals';
import { EffectRunner } from '../../../src/critical-section/effects';
import { NO_SECTION_METRICS } from '../../../src/critical-section/section-metrics';
import { onCreateGroup } from '../../../src/domain/coordinator/on-admin';
import { onTick } from '../../../src/domain/coordinator/on-tick';
import type { Incarnation, MemberId } from '../../../src/domain/ids';
import { DueGroups } from '../../../src/event-loop/due-groups';
import { EventLoop } from '../../../src/event-loop/event-loop';
import { NO_LOOP_METRICS } from '../../../src/event-loop/loop-metrics';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import type { LoopStore } from '../../../src/store/group-index';
import { MemoryStreamProvisioner } from '../../../src/store/memory/memory-streams';
import { settle } from '../critical-section/fake-clock';
import { answerOf, groupKey, KEY, SectionWorld, type Coordinator } from '../critical-section/section-world';

/** The event loop of one coordinator; `passes` counts its calls to Redis. */
function loopOf(coordinator: Coordinator) {
  const { section, confirmed, gate, loopView, clockGuard, clock } = coordinator.assembly;
  const faults: string[] = [];
  const report = (kind: string) => void faults.push(kind);
  const timing = DEFAULT_TIMING;
  const dueGroups = new DueGroups({
    section,
    effects: new EffectRunner({
      section,
      provisioner: new MemoryStreamProvisioner(coordinator.world.node),
      faults: { report },
      metrics: NO_SECTION_METRICS,
    }),
    index: coordinator.index,
    confirmed,
    timing,
    faults: { report },
    metrics: NO_LOOP_METRICS,
    tickCommand: onTick,
  });
  let passes = 0;
  const loopStore: Pick<LoopStore, 'pass'> = {
    pass: (request) => {
      passes += 1;
      return coordinator.loopStore.pass(request);
    },
  };
  const shared = { gate, loopView, clockGuard, clock, faults: { report }, metrics: NO_LOOP_METRICS };
  const loop = new EventLoop({ ...shared, coordinatorId: 'c', timing, loopStore, dueGroups });
  const tick = async (): Promise<void> => {
    await loop.tick();
    await loop.idle();
    await settle();
  };
  return { tick, faults, passes: () => passes };
}

describe('the event loop', () => {
  let world: SectionWorld;
  let coordinator: Coordinator;

  beforeEach(() => {
    world = new SectionWorld();
    coordinator = world.coordinator();
  });

  /** Ticks once a second. */
  async function run(loop: { tick: () => Promise<void> }, lengthMs: number): Promise<void> {
    for (let ms = 0; ms < lengthMs; ms += 1_000) {
      await world.clock.advance(1_000);
      await loop.tick();
    }
  }

  it('makes one call when of 10,000 groups none is due', async () => {
    const index = new Map<string, number>();
    for (let group = 0; group < 10_000; group += 1) index.set(`orders:g${group}`, world.nowMs + 5_000);
    world.node.index = index;
    const loop = loopOf(coordinator);
    await loop.tick();
    expect(loop.passes()).toBe(1);
    expect(coordinator.calls).toEqual([]);
  });

  it('expires a member whose lease ran out, and its shards go to the other', async () => {
    const loop = loopOf(coordinator);
    await loop.tick();
    await world.clock.advance(16_000); // the quiet period of the very first pass
    await coordinator.createGroup(4);
    await coordinator.join('m-1');
    await loop.tick();
    await run(loop, 8_000);
    const { memberEpoch } = await coordinator.join('m-2');
    await run(loop, 8_000);
    const { metadata } = coordinator.assembly.confirmed.get('orders:billing')!;
    expect(metadata.members.get('m-1' as MemberId)?.state).toBe('EXPIRED');
    const view = answerOf(await coordinator.heartbeat({ memberId: 'm-2' as MemberId, memberEpoch }));
    expect(view.assigned).toHaveLength(4);
  });

  it('expires nobody after an outage, until a lease has passed', async () => {
    const loop = loopOf(coordinator);
    await loop.tick();
    await coordinator.createGroup(4);
    await coordinator.join('m-1');
    await world.clock.advance(60_000); // nobody passed, nobody could renew
    await loop.tick();
    const stateOf = () =>
      coordinator.assembly.confirmed.get('orders:billing')?.metadata.members.get('m-1' as MemberId)?.state;
    expect(stateOf()).toBe('ACTIVE');
    await run(loop, 14_000);
    expect(stateOf()).toBe('ACTIVE');
    await run(loop, 3_000);
    expect(stateOf()).toBe('EXPIRED');
  });

  it('finishes the provisioning that a crash interrupted', async () => {
    const incarnation = 'life-1' as Incarnation;
    await coordinator.run(onCreateGroup({ key: KEY, incarnation, shardCount: 2, grantsFromMs: null }));
    const next = world.coordinator();
    await run(loopOf(next), 2_000);
    expect(next.assembly.confirmed.get('orders:billing')?.metadata.provisioning).toBe('COMPLETE');
    expect([...world.node.streams.keys()]).toEqual(['orders:0', 'orders:1']);
  });

  it('takes phantoms out of the index', async () => {
    world.node.index = new Map([['orders:phantom', 0]]);
    await loopOf(coordinator).tick();
    expect(world.node.index.size).toBe(0);
  });

  it('is stopped by no bad group', async () => {
    const other = groupKey('orders', 'other');
    await coordinator.createGroup(1);
    await coordinator.createGroup(1, other);
    world.node.groups = new Map(
      [...world.node.groups].map(([text, group]) => [
        text,
        text === 'orders:billing' ? { ...group, aggregate: '{broken' } : group,
      ]),
    );
    const loop = loopOf(coordinator);
    await world.clock.advance(2_000);
    const soon = world.nowMs + 2_000;
    await loop.tick();
    expect(loop.faults).toEqual(['event-loop:METADATA_CORRUPT']);
    expect(world.node.index.get('orders:billing')).toBe(soon);
    expect(world.node.index.get('orders:other')).toBeGreaterThan(soon);
    expect(world.node.lockOf('orders:billing')).toBeNull();
  });

  it('looks at each group once per lease, however quiet it is', async () => {
    await coordinator.createGroup(1);
    const loop = loopOf(coordinator);
    await run(loop, 2_000);
    coordinator.calls.length = 0;
    await run(loop, 60_000);
    const looks = coordinator.calls.filter((call) => call === 'lockAndLoad').length;
    expect(looks).toBeGreaterThanOrEqual(4);
    expect(looks).toBeLessThanOrEqual(5);
  });

  it('lets two coordinators share the work', async () => {
    const other = world.coordinator();
    await coordinator.createGroup(4);
    const loops = [loopOf(coordinator), loopOf(other)];
    for (let round = 0; round < 30; round += 1) {
      await world.clock.advance(500);
      await loops[round % 2]!.tick();
    }
    expect(loops.flatMap(({ faults }) => faults)).toEqual([]);
    expect(world.node.index.get('orders:billing')).toBeGreaterThan(world.nowMs);
  });

  it('stops with the gate', async () => {
    const loop = loopOf(coordinator);
    coordinator.assembly.gate.close();
    await loop.tick();
    expect(loop.passes()).toBe(0);
  });
});
