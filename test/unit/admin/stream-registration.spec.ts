import { describe, expect, it } from '@jest/globals';
import { StreamRegistration } from '../../../src/admin/stream-registration';
import type { CoordinatorOptions } from '../../../src/config/coordinator-options';
import type { GroupReader } from '../../../src/critical-section/group-reader';
import type { EpochMillis } from '../../../src/domain/time';
import type { LoopStore } from '../../../src/store/group-index';
import { MemoryNode } from '../../../src/store/memory/memory-node';
import { MemoryStreamRegistry } from '../../../src/store/memory/memory-streams';
import { KEY } from '../../flow/critical-section/section-world';

const LEASE_MS = 15_000;

/** Of a stream whose group has no metadata, unless it is given. */
function registration(metadata: { readonly shardCount: number } | null = null) {
  const clock = { nowMs: 1_000_000 };
  const registry = new MemoryStreamRegistry(new MemoryNode(() => clock.nowMs as EpochMillis));
  const options = {
    timing: { memberLeaseTtlMs: LEASE_MS },
    defaultShardCount: 4,
  } as unknown as CoordinatorOptions;
  const reader = {
    read: () => Promise.resolve({ metadata, redisNowMs: clock.nowMs as EpochMillis }),
  } as unknown as GroupReader;
  const loss: Awaited<ReturnType<LoopStore['lossSeen']>> = { isRecordMissing: false, untilMs: null };
  const seen = { loss };
  const loopStore = { lossSeen: () => Promise.resolve(seen.loss) };
  return { clock, registry, seen, registered: new StreamRegistration(registry, options, reader, loopStore) };
}

describe('the registration of a group', () => {
  it('tells whether the group was there: its creation finds out whether it still is', async () => {
    const { registered } = registration();
    expect(await registered.register(KEY, 2)).toMatchObject({ wasThere: false });
    const there = registration({ shardCount: 3 });
    expect(await there.registered.register(KEY, 2)).toMatchObject({ wasThere: true, shardCount: 3 });
    expect(await there.registered.register(KEY, 2)).toMatchObject({ wasThere: true, shardCount: 3 });
  });
});

describe('the registration of a deleted group', () => {
  it('remembers when its members have stopped, until it is created again', async () => {
    const { clock, registered } = registration();
    await registered.register(KEY, 2);
    await registered.deregister(KEY, (clock.nowMs + 5_000) as EpochMillis);
    expect(await registered.isRegistered(KEY)).toBeNull();
    expect(await registered.register(KEY, 2)).toMatchObject({ grantsFromMs: clock.nowMs + 5_000 });
  });

  // Found by the simulation: a creation and a deletion at once left the group without a registration.
  it('remembers it although the group was not registered', async () => {
    const { clock, registered } = registration();
    await registered.deregister(KEY, (clock.nowMs + 5_000) as EpochMillis);
    expect(await registered.register(KEY, 2)).toMatchObject({
      shardCount: 2,
      grantsFromMs: clock.nowMs + 5_000,
    });
  });

  it('keeps the latest end when a life ended before the members of the one before have stopped', async () => {
    const { clock, registered } = registration();
    await registered.deregister(KEY, (clock.nowMs + 5_000) as EpochMillis);
    await registered.deregister(KEY, (clock.nowMs + 1_000) as EpochMillis);
    expect(await registered.register(KEY, 2)).toMatchObject({ grantsFromMs: clock.nowMs + 5_000 });
  });

  it('leaves nothing behind when nobody reads any more', async () => {
    const { clock, registry, registered } = registration();
    await registered.register(KEY, 2);
    await registered.deregister(KEY, clock.nowMs as EpochMillis);
    expect(await registry.load(KEY.streamPrefix)).toBeNull();
    await registered.deregister(KEY, clock.nowMs as EpochMillis);
    expect(await registry.load(KEY.streamPrefix)).toBeNull();
  });

  // FLUSHALL, or a failover that lost the creation: nothing in Redis tells of a former life.
  it('waits for the end of a life that Redis forgot', async () => {
    const { clock, seen, registered } = registration();
    seen.loss = { isRecordMissing: true, untilMs: null };
    expect(await registered.register(KEY, 2)).toMatchObject({ grantsFromMs: clock.nowMs + LEASE_MS });
    const other = { ...KEY, consumerGroup: 'other' as typeof KEY.consumerGroup };
    seen.loss = { isRecordMissing: false, untilMs: (clock.nowMs + 7_000) as EpochMillis };
    expect(await registered.register(other, 2)).toMatchObject({ grantsFromMs: clock.nowMs + 7_000 });
    const third = { ...KEY, consumerGroup: 'third' as typeof KEY.consumerGroup };
    clock.nowMs += 7_000;
    expect(await registered.register(third, 2)).toMatchObject({ grantsFromMs: null });
  });

  it('waits a whole lease when it is registered and has no metadata', async () => {
    const { clock, registered } = registration();
    await registered.register(KEY, 2);
    expect(await registered.register(KEY, 2)).toMatchObject({ grantsFromMs: clock.nowMs + LEASE_MS });
  });
});
