import { beforeEach, describe, expect, it } from '@jest/globals';
import { onRestoreGroup } from '../../../src/domain/coordinator/on-restore';
import type { GroupMetadata } from '../../../src/domain/group/group-metadata';
import type { MemberId } from '../../../src/domain/ids';
import { exportGroup, readGroupDocument } from '../../../src/store/group-document';
import { settle } from './fake-clock';
import { heartbeat, KEY, SectionWorld, type Coordinator } from './section-world';
import { bump, look } from './tiny-commands';

const TEXT = 'orders:billing';

describe('restoring a group', () => {
  let world: SectionWorld;
  let coordinator: Coordinator;
  let exported: GroupMetadata;

  beforeEach(async () => {
    world = new SectionWorld();
    coordinator = world.coordinator();
    await coordinator.createGroup(3);
    await coordinator.join('m-1');
    const outcome = await exportGroup(coordinator.assembly.store, KEY);
    if (outcome.kind !== 'EXPORTED') throw new Error(outcome.kind);
    const read = readGroupDocument(JSON.parse(JSON.stringify(outcome.document)));
    if (read.kind !== 'READ') throw new Error(read.kind);
    exported = read.metadata;
    await coordinator.run(bump());
    await world.clock.advance(1_000);
    coordinator.pass();
    coordinator.calls.length = 0;
  });

  const restore = () =>
    coordinator.assembly.section
      .run(KEY, onRestoreGroup(exported), { replacesCorrupt: true })
      .then(({ reply }) => reply);

  const corrupt = (): void => {
    const stored = world.node.groups.get(TEXT)!;
    world.node.groups = new Map([[TEXT, { ...stored, aggregate: '{' }]]);
  };

  it('replaces what cannot be read, with numbers above all that was lost', async () => {
    const lost = Number(world.node.groups.get(TEXT)?.revision);
    corrupt();
    expect(await restore()).toMatchObject({ ok: true });
    const loaded = await coordinator.assembly.store.load(KEY);
    expect(loaded).toMatchObject({
      kind: 'LOADED',
      metadata: { incarnation: exported.incarnation, correction: { cause: 'RESTORE' } },
    });
    expect(Number(world.node.groups.get(TEXT)?.revision)).toBeGreaterThan(lost);
    expect(world.node.lockOf(TEXT)).toBeNull();
  });

  it('brings back what is missing, and puts it into the index', async () => {
    world.node.groups = new Map();
    world.node.index = new Map();
    expect(await restore()).toMatchObject({ ok: true });
    expect(world.node.index.has(TEXT)).toBe(true);
  });

  it('is refused over a newer readable group, which stays as it is', async () => {
    const before = world.node.groups.get(TEXT);
    expect(await restore()).toMatchObject({ ok: false });
    expect(world.node.groups.get(TEXT)).toEqual(before);
  });

  it('is refused over what another version of this software wrote', async () => {
    const stored = { ...world.node.groups.get(TEXT)!, schemaVersion: '2' };
    world.node.groups = new Map([[TEXT, stored]]);
    await expect(restore()).rejects.toMatchObject({ code: 'METADATA_SCHEMA_UNSUPPORTED' });
    expect(world.node.groups.get(TEXT)).toEqual(stored);
  });

  it('is the only command that gets past a corrupt group: others in the same batch are told that it is', async () => {
    corrupt();
    const others = [coordinator.run(look), coordinator.run(heartbeat({ memberId: 'm-2' as MemberId }))];
    const outcomes = Promise.allSettled(others);
    const restored = restore();
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'METADATA_CORRUPT' } });
    }
    expect(await restored).toMatchObject({ ok: true });
    await coordinator.run(look);
  });

  it('makes commands wait that come after it, and answers them from what was restored', async () => {
    corrupt();
    const restored = restore();
    const after = coordinator.run(look);
    expect(await restored).toMatchObject({ ok: true });
    expect(String(await after)).toBe(world.node.groups.get(TEXT)?.revision);
  });

  it('leaves a corrupt group and its entry in the index alone when it is only looked for', async () => {
    corrupt();
    const before = world.node.groups.get(TEXT);
    const { section } = coordinator.assembly;
    const options = { removesPhantom: true, replacesCorrupt: true };
    await section.run(KEY, look, options);
    await settle();
    expect(world.node.groups.get(TEXT)).toEqual(before);
    expect(world.node.index.has(TEXT)).toBe(true);
    expect(world.node.lockOf(TEXT)).toBeNull();
  });
});
