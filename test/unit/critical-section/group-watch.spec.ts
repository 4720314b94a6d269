import { beforeEach, describe, expect, it } from '@jest/globals';
import type { GroupState } from '../../../src/domain/coordinator/decision';
import { StoreError } from '../../../src/store/metadata-store';
import { settle } from '../../flow/critical-section/fake-clock';
import { groupKey, KEY, SectionWorld, type Coordinator } from '../../flow/critical-section/section-world';
import { bump } from '../../flow/critical-section/tiny-commands';

describe('waiting for a change', () => {
  let world: SectionWorld;
  let here: Coordinator;
  let there: Coordinator;
  let version: number;

  beforeEach(async () => {
    world = new SectionWorld();
    here = world.coordinator({ limits: { maxWatchers: 3 } });
    there = world.coordinator();
    await here.createGroup(2);
    version = await here.run(bump());
    await settle();
    here.calls.length = 0;
  });

  const isBeyond = (seen: number) => (state: GroupState) =>
    state.metadata === null || state.metadata.metadataVersion > seen;

  function wait(seen = version, waitMs = 3_000, signal?: AbortSignal): Promise<GroupState | null> {
    return here.assembly.watch.waitForChange(KEY, isBeyond(seen), waitMs, signal);
  }

  it('ends with what this coordinator commits', async () => {
    const waiting = wait();
    await here.run(bump());
    expect((await waiting)?.metadata?.metadataVersion).toBe(version + 1);
    expect(here.assembly.watch.size).toBe(0);
    expect(world.clock.pendingAlarms).toBe(0);
  });

  it('ends with what another coordinator commits, by one load for all who wait', async () => {
    const waiting = [wait(), wait(), wait()];
    await there.run(bump());
    const states = await Promise.all(waiting);
    expect(states.map((state) => state?.metadata?.metadataVersion)).toEqual([1, 1, 1].map(() => version + 1));
    expect(here.calls).toEqual(['load']);
  });

  it('goes on after a change that is none in its eyes', async () => {
    let isOver = false;
    const waiting = wait(version + 1).then((state) => {
      isOver = true;
      return state;
    });
    await here.run(bump());
    await settle();
    expect(isOver).toBe(false);
    await there.run(bump());
    expect((await waiting)?.metadata?.metadataVersion).toBe(version + 2);
  });

  it('ends at once when the change is known already', async () => {
    expect((await wait(version - 1))?.metadata?.metadataVersion).toBe(version);
    expect(here.calls).toEqual([]);
  });

  it('loads once more when a notice comes during a load', async () => {
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => (release = resolve));
    here.after = (call) => (call === 'load' ? isHeld : undefined);
    const waiting = wait(version + 1);
    await there.run(bump());
    await settle();
    await there.run(bump());
    await settle();
    release();
    expect((await waiting)?.metadata?.metadataVersion).toBe(version + 2);
    expect(here.calls).toEqual(['load', 'load']);
  });

  it('ends with nothing at its deadline', async () => {
    const waiting = wait();
    await world.clock.advance(3_000);
    expect(await waiting).toBeNull();
    expect(here.assembly.watch.size).toBe(0);
  });

  it('ends with nothing when its caller is gone', async () => {
    const caller = new AbortController();
    const waiting = wait(version, 3_000, caller.signal);
    caller.abort();
    expect(await waiting).toBeNull();
    expect(await wait(version, 3_000, caller.signal)).toBeNull();
    expect(world.clock.pendingAlarms).toBe(0);
  });

  it('ends with nothing at termination, and does not begin after it', async () => {
    const waiting = [wait(), wait()];
    here.assembly.gate.close();
    expect(await Promise.all(waiting)).toEqual([null, null]);
    expect(await wait()).toBeNull();
  });

  it('holds no count at the gate and no place in the queue', async () => {
    const waiting = wait();
    await settle();
    expect(here.assembly.gate.enteredCount).toBe(0);
    expect(here.assembly.gate.holdingCount).toBe(0);
    here.assembly.gate.close();
    await waiting;
  });

  it('is refused beyond the bound of watchers', async () => {
    const waiting = [wait(), wait(), wait()];
    await expect(wait()).rejects.toMatchObject({ code: 'COORDINATOR_BUSY', bound: 'WATCHERS' });
    here.assembly.gate.close();
    await Promise.all(waiting);
  });

  it('survives a load that fails, and notices of groups that nobody watches', async () => {
    here.before = (call) => {
      if (call === 'load') throw new StoreError('load', 'TIMEOUT', true, { cause: null });
    };
    const waiting = wait();
    await there.run(bump());
    await there.createGroup(1, groupKey('other', 'group'));
    await settle();
    expect(here.calls).toEqual(['load']);
    here.before = () => undefined;
    await there.run(bump());
    expect((await waiting)?.metadata?.metadataVersion).toBe(version + 2);
  });

  it('ends with the state without a group when it is deleted elsewhere', async () => {
    const waiting = wait();
    world.node.groups = new Map();
    world.node.publish('orders:billing');
    expect(await waiting).toEqual({ metadata: null, leases: new Map() });
  });
});
