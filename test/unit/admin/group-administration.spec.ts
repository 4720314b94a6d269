import { describe, expect, it } from '@jest/globals';
import { GroupAdministration } from '../../../src/admin/group-administration';
import type { StreamRegistration } from '../../../src/admin/stream-registration';
import type { CoordinatorOptions } from '../../../src/config/coordinator-options';
import { systemClock } from '../../../src/critical-section/runtime-ports';
import { ShutdownGate } from '../../../src/critical-section/shutdown-gate';
import { groupViewOf } from '../../../src/http/group.view';
import { GroupWorld, LEASE_MS } from '../../support/group-world';
import { KEY } from '../../flow/critical-section/section-world';

describe('the creation of a group', () => {
  // Found by the simulation: the deletion of the group commits between the look at it and its creation.
  it('that was there when it was asked for, and is gone now, waits for the members of its former life', async () => {
    const registered = { shardCount: 1, grantsFromMs: null, wasThere: true };
    const registration = { register: () => Promise.resolve(registered) } as unknown as StreamRegistration;
    const [options, gate] = [{ maxShardCount: 8 } as CoordinatorOptions, new ShutdownGate(systemClock)];
    const unused = null as never;
    const administration = new GroupAdministration(options, unused, registration, unused, gate);
    const request = await administration.create(KEY, 1, groupViewOf);
    const world = new GroupWorld();
    world.apply(request.command);
    expect(world.metadata.grantsFromMs).toBe(world.nowMs + LEASE_MS);
  });
});
