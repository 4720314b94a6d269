import { describe, expect, it } from '@jest/globals';
import { onDeleteGroup } from '../../../src/domain/coordinator/on-admin';
import { settle } from './fake-clock';
import { KEY, SectionWorld, type Interference } from './section-world';
import { bump, look } from './tiny-commands';

const STEPS = ['lockAndLoad', 'bringForward', 'commitAndUnlock'] as const;

describe('a coordinator that dies', () => {
  for (const step of STEPS) {
    for (const moment of ['before', 'after'] as const) {
      it(`${moment} ${step}: another goes on from what is recorded`, async () => {
        const world = new SectionWorld();
        await world.coordinator().createGroup(4);
        const dying = world.coordinator();
        const recorded = (await world.coordinator().run(look)) ?? 0;
        let hasDied = false;
        const die: Interference = (call) => {
          if (call !== step && !hasDied) return;
          hasDied = true;
          return new Promise(() => undefined); // it never does anything again
        };
        dying[moment] = die;
        dying.run(bump()).catch(() => undefined);
        await settle();
        expect(hasDied).toBe(true);

        const next = world.coordinator();
        const looked = next.run(look);
        await world.clock.advance(5_100); // the lock's TTL
        const wasWritten = step === 'commitAndUnlock' && moment === 'after';
        expect(await looked).toBe(recorded + (wasWritten ? 1 : 0));
        expect(world.node.index.has('orders:billing')).toBe(true);
      });
    }
  }

  it('after the commit that deleted a group: the event loop takes the phantom out of the index', async () => {
    const world = new SectionWorld();
    const dying = world.coordinator();
    await dying.createGroup(4);
    dying.after = (call) => (call === 'commitAndUnlock' ? new Promise(() => undefined) : undefined);
    dying.run(onDeleteGroup({ force: true, expectedVersion: null })).catch(() => undefined);
    await settle();
    expect(world.node.index.has('orders:billing')).toBe(true);
    const next = world.coordinator();
    await next.assembly.section.run(KEY, look, { removesPhantom: true });
    expect(world.node.index.has('orders:billing')).toBe(false);
    await settle();
    expect(next.calls).toEqual(['lockAndLoad', 'remove', 'unlock']);
  });
});
