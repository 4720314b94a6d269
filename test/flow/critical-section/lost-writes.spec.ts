import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DecisionContext, GroupCommand } from '../../../src/domain/coordinator/decision';
import type { GroupMetadata } from '../../../src/domain/group/group-metadata';
import { settle } from './fake-clock';
import { KEY, SectionWorld, type Coordinator } from './section-world';
import { bump, look } from './tiny-commands';

const OTHER_ID = 'node-2/repl-7';

/** Notes what each of its decisions was told about the store; writes each time. */
function witness(contexts: DecisionContext[]): GroupCommand<number> {
  const write = bump('witness');
  return {
    name: 'witness',
    decide: (state, context) => {
      contexts.push(context);
      const decision = write.decide(state, context);
      const metadata: GroupMetadata = { ...decision.metadata!, redisId: context.redisId };
      return { ...decision, metadata };
    },
  };
}

describe('what a decision is told of writes that Redis lost', () => {
  let world: SectionWorld;
  let coordinator: Coordinator;
  let contexts: DecisionContext[];

  beforeEach(async () => {
    world = new SectionWorld();
    coordinator = world.coordinator();
    await coordinator.createGroup(3);
    contexts = [];
  });

  const known = (): GroupMetadata | undefined =>
    coordinator.assembly.confirmed.get('orders:billing')?.metadata;

  /** Two writes that Redis then forgets. */
  async function loseTwoWrites(): Promise<GroupMetadata> {
    const snapshot = world.node.snapshot();
    await coordinator.run(bump());
    await coordinator.run(bump());
    world.node.restore(snapshot);
    return known()!;
  }

  it('is what this process remembered before the load, and which Redis the load came from', async () => {
    const before = known()!;
    await coordinator.run(witness(contexts));
    expect(contexts[0]?.remembered).toBe(before);
    expect(contexts[0]?.redisId).toBe('node-1/repl-1');
    world.node.redisId = OTHER_ID;
    await coordinator.run(witness(contexts));
    expect(contexts[1]?.redisId).toBe(OTHER_ID);
    expect(known()?.redisId).toBe(OTHER_ID);
  });

  it('is nothing of a group that this process has not seen', async () => {
    await world.coordinator().run(witness(contexts));
    expect(contexts[0]?.remembered).toBeNull();
  });

  it('is the same for every attempt, until one of them has committed', async () => {
    const lost = await loseTwoWrites();
    const other = world.coordinator();
    let isInterrupted = false;
    coordinator.before = async (call) => {
      if (call !== 'commitAndUnlock' || isInterrupted) return;
      isInterrupted = true;
      world.node.locks = new Map();
      await other.run(bump('other'));
    };
    await coordinator.run(witness(contexts));
    expect(contexts.map(({ remembered }) => remembered)).toEqual([lost, lost]);
    await coordinator.run(witness(contexts));
    expect(contexts[2]?.remembered?.storeRevision).toBeLessThan(known()!.storeRevision);
    expect(contexts[2]?.remembered?.writeId).not.toBe(lost.writeId);
  });

  it('is not forgotten over a command that changes nothing, nor over a read without lock', async () => {
    const lost = await loseTwoWrites();
    await coordinator.run(look);
    await settle();
    coordinator.assembly.confirmed.confirmRead('orders:billing', await loadedState());
    await coordinator.run(witness(contexts));
    expect(contexts[0]?.remembered).toBe(lost);
  });

  it('is not forgotten over a read of another write with the same revision', async () => {
    const snapshot = world.node.snapshot();
    await coordinator.run(bump());
    const lost = known()!;
    world.node.restore(snapshot);
    await world.coordinator().run(bump('another history'));
    const state = await loadedState();
    expect(state.metadata.storeRevision).toBe(lost.storeRevision);
    coordinator.assembly.confirmed.confirmRead('orders:billing', state);
    await coordinator.run(witness(contexts));
    expect(contexts[0]?.remembered).toBe(lost);
  });

  it('is not forgotten over requests that find the group missing: who creates it anew waits for its members', async () => {
    const lost = known()!;
    world.node.restore({ ...world.node.snapshot(), groups: new Map() });
    expect(await coordinator.run(look)).toBeNull();
    expect(await coordinator.run(look)).toBeNull();
    await coordinator.createGroup(3);
    expect(known()).not.toBe(lost);
    const { grantsFromMs, createdAtMs } = known()!;
    expect(grantsFromMs).toBeGreaterThan(createdAtMs);
  });

  it('is not committed on another Redis than the one that was read, but decided again on that one', async () => {
    let hasFailedOver = false;
    coordinator.before = (call) => {
      if (call !== 'commitAndUnlock' || hasFailedOver) return;
      hasFailedOver = true;
      world.node.redisId = OTHER_ID;
    };
    await coordinator.run(witness(contexts));
    expect(contexts.map(({ redisId }) => redisId)).toEqual(['node-1/repl-1', OTHER_ID]);
    expect(coordinator.calls).toEqual(['lockAndLoad', 'commitAndUnlock', 'lockAndLoad', 'commitAndUnlock']);
  });

  it('holds for heartbeats, too: none is answered past a section once another Redis answers', async () => {
    const { memberEpoch, metadataVersion, assigned } = await coordinator.join('m-1');
    world.node.redisId = OTHER_ID;
    const owned = new Set(assigned.map(({ shard }) => shard));
    const memberId = 'm-1' as never;
    await coordinator.heartbeat({ memberId, memberEpoch, metadataVersion, owned, revoking: new Map() });
    expect(coordinator.calls.slice(0, 2)).toEqual(['renewLeases', 'lockAndLoad']);
  });

  async function loadedState() {
    const loaded = await coordinator.assembly.store.load(KEY);
    if (loaded.kind !== 'LOADED') throw new Error(loaded.kind);
    return loaded;
  }
});

describe('a command that changes nothing on a group that went back', () => {
  it('is answered from what Redis holds', async () => {
    const world = new SectionWorld();
    const coordinator = world.coordinator();
    await coordinator.createGroup(3);
    const revision = await coordinator.run(look);
    const snapshot = world.node.snapshot();
    await coordinator.run(bump());
    world.node.restore(snapshot);
    expect(await coordinator.run(look)).toBe(revision);
  });
});
