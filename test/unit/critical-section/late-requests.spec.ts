import { describe, expect, it } from '@jest/globals';
import { LateRequests } from '../../../src/critical-section/late-requests';
import { FakeClock } from '../../flow/critical-section/fake-clock';

const BOUNDS = { lullMs: 100, atMostMs: 1_000 };

describe('requests that come after termination has begun', () => {
  function waiting({ connections = 0, came = false } = {}) {
    const clock = new FakeClock();
    const world = { clock, connections, isOver: false };
    const late = new LateRequests(clock, async () => world.connections);
    if (came) late.came();
    late.lull(BOUNDS).then(
      () => (world.isOver = true),
      () => undefined,
    );
    return { world, late };
  }

  it('are not waited for when nobody is connected and none has come', async () => {
    const { world } = waiting();
    await world.clock.advance(0);
    expect(world.isOver).toBe(true);
  });

  it('are waited for until no connection is open', async () => {
    const { world } = waiting({ connections: 1 });
    await world.clock.advance(500);
    expect(world.isOver).toBe(false);
    world.connections = 0;
    await world.clock.advance(20);
    expect(world.isOver).toBe(true);
  });

  it('are followed by a lull, in which their clients may come back', async () => {
    const { world, late } = waiting({ came: true });
    await world.clock.advance(80);
    late.came();
    await world.clock.advance(99);
    expect(world.isOver).toBe(false);
    await world.clock.advance(21);
    expect(world.isOver).toBe(true);
  });

  it('do not hold up the end for ever', async () => {
    const { world, late } = waiting({ connections: 1 });
    for (let passedMs = 0; passedMs < 950; passedMs += 50) {
      await world.clock.advance(50);
      late.came();
    }
    expect(world.isOver).toBe(false);
    await world.clock.advance(50);
    expect(world.isOver).toBe(true);
  });
});
