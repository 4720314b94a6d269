import { describe, expect, it } from '@jest/globals';
import { onFenceMember } from '../../../src/domain/coordinator/on-admin';
import type { GroupCommand } from '../../../src/domain/coordinator/decision';
import { onTick } from '../../../src/domain/coordinator/on-tick';
import { findViolations } from '../../../src/domain/group/invariants';
import type { InstanceId, MemberId, ShardIndex } from '../../../src/domain/ids';
import type { HeartbeatRequest } from '../../../src/domain/membership/heartbeat-request';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import { settle } from '../critical-section/fake-clock';
import {
  answerOf,
  heartbeat,
  SectionWorld,
  type Coordinator,
  type Interference,
} from '../critical-section/section-world';
import { recorded } from './scenario-world';

const STEPS = ['lockAndLoad', 'bringForward', 'commitAndUnlock'] as const;
const LOCK_OVER_MS = DEFAULT_TIMING.lockTtlMs + 100;

type Command = GroupCommand<unknown>;

/** One workflow: brings the group to where it begins, and says which command is its next step. */
interface Workflow {
  readonly name: string;
  readonly prepare: (world: SectionWorld, at: Coordinator) => Promise<Command>;
}

const id = (name: string) => ({ memberId: name as MemberId, instanceId: `${name}-1` as InstanceId });
const shards = (...indexes: readonly number[]) => new Set(indexes as readonly ShardIndex[]);
const revoked = (...indexes: readonly number[]): HeartbeatRequest['revoking'] =>
  new Map(indexes.map((index) => [index as ShardIndex, { state: 'REVOKED' as const, inFlight: 0 }]));

/** Joins, and says what identifies the tenure. */
async function tenure(at: Coordinator, name: string) {
  const { memberEpoch, metadataVersion } = answerOf(await at.run(heartbeat({ ...id(name), memberEpoch: 0 })));
  return { ...id(name), memberEpoch, metadataVersion };
}

/** `a` holds both shards, `b` waits for one, and `a` has been told. */
async function draining(at: Coordinator) {
  const a = await tenure(at, 'a');
  const b = await tenure(at, 'b');
  const { metadataVersion, revoking } = answerOf(await at.run(heartbeat({ ...a, owned: shards(0, 1) })));
  return { a: { ...a, metadataVersion }, b, moving: Number(revoking[0]) };
}

const WORKFLOWS: readonly Workflow[] = [
  {
    name: 'the first join',
    prepare: async () => heartbeat({ ...id('a'), memberEpoch: 0 }),
  },
  {
    name: 'a join that takes a shard from another',
    prepare: async (_world, at) => {
      await tenure(at, 'a');
      return heartbeat({ ...id('b'), memberEpoch: 0 });
    },
  },
  {
    name: 'a change of capacity',
    prepare: async (_world, at) => {
      const a = await tenure(at, 'a');
      await tenure(at, 'b');
      return heartbeat({ ...a, maxConcurrency: 0, availableConcurrency: 0 });
    },
  },
  {
    name: 'the end of a drain',
    prepare: async (_world, at) => {
      const { a, moving } = await draining(at);
      return heartbeat({ ...a, owned: shards(1 - moving), revoking: revoked(moving) });
    },
  },
  {
    name: 'a leave that still drains',
    prepare: async (_world, at) => {
      const { a } = await draining(at);
      const { memberEpoch: previousEpoch } = a;
      return heartbeat({ ...a, memberEpoch: -1, previousEpoch, owned: shards(0, 1), revoking: new Map() });
    },
  },
  {
    name: 'a leave with everything let go',
    prepare: async (_world, at) => {
      const { a } = await draining(at);
      return heartbeat({ ...a, memberEpoch: -1, previousEpoch: a.memberEpoch, revoking: revoked(0, 1) });
    },
  },
  {
    name: 'another process with the id of a member',
    prepare: async (_world, at) => {
      await draining(at);
      return heartbeat({ ...id('a'), memberEpoch: 0, instanceId: 'a-2' as InstanceId });
    },
  },
  {
    name: 'the expiry of a member',
    prepare: async (world, at) => {
      const { b } = await draining(at);
      await world.clock.advance(DEFAULT_TIMING.memberLeaseTtlMs - 1);
      at.pass();
      await at.run(heartbeat(b));
      await world.clock.advance(1);
      return onTick();
    },
  },
  {
    name: 'the fence at the deadline of a drain',
    prepare: async (world, at) => {
      const { a, b } = await draining(at);
      const stepMs = DEFAULT_TIMING.memberLeaseTtlMs / 3;
      for (let ms = 0; ms < DEFAULT_TIMING.rebalanceTimeoutMs; ms += stepMs) {
        at.pass();
        for (const member of [a, b]) await at.run(heartbeat(member));
        await world.clock.advance(stepMs);
      }
      return onTick();
    },
  },
  {
    name: 'the fence of an operator',
    prepare: async (_world, at) => {
      const { a } = await draining(at);
      return onFenceMember({ memberId: a.memberId, expectedVersion: null });
    },
  },
  {
    name: 'the start of a correction round',
    prepare: async (world, at) => {
      await draining(at);
      world.node.redisId = 'node-2/repl-2';
      return onTick();
    },
  },
  {
    name: 'the end of a correction round',
    prepare: async (world, at) => {
      const a = await tenure(at, 'a');
      world.node.redisId = 'node-2/repl-2';
      const told = async () =>
        heartbeat({
          ...a,
          metadataVersion: (await recorded(world)).metadataVersion,
          owned: shards(0, 1),
          revoking: new Map(),
        });
      for (let third = 0; third < 3; third += 1) {
        at.pass();
        await at.run(await told());
        await world.clock.advance(DEFAULT_TIMING.memberLeaseTtlMs / 3);
      }
      return told();
    },
  },
];

/** Who is what, and who holds or shall hold which shard: everything but the numbers, which depend on the time. */
async function outcome(world: SectionWorld) {
  const { members, shards: all, correction } = await recorded(world);
  return {
    members: [...members.values()].map(({ memberId, state }) => `${memberId} ${state}`),
    shards: all.map(({ target, occupancy }) => ({
      target,
      kind: occupancy.kind,
      holder: occupancy.kind === 'HELD' ? occupancy.memberId : null,
      drains: occupancy.kind === 'HELD' && occupancy.drain !== null,
    })),
    isCorrecting: correction !== null,
  };
}

async function prepared({ prepare }: Workflow) {
  const world = new SectionWorld();
  const at = world.coordinator();
  await at.createGroup(2);
  const command = await prepare(world, at);
  await settle();
  return { world, command };
}

describe.each(WORKFLOWS)('$name', (workflow) => {
  for (const step of STEPS) {
    for (const moment of ['before', 'after'] as const) {
      it(`its coordinator dies ${moment} ${step}: another one brings it to the same end`, async () => {
        const undisturbed = await prepared(workflow);
        await undisturbed.world.coordinator().run(undisturbed.command);
        const expected = await outcome(undisturbed.world);

        const { world, command } = await prepared(workflow);
        const start = await outcome(world);
        expect(start).not.toEqual(expected);
        const dying = world.coordinator();
        dying[moment] = deathAt(step);
        dying.run(command).catch(() => undefined);
        await settle();
        const between = await outcome(world);
        const isWritten = step === 'commitAndUnlock' && moment === 'after';
        expect(between).toEqual(isWritten ? expected : start);

        await world.clock.advance(LOCK_OVER_MS);
        const next = world.coordinator();
        await next.run(command); // the client's retry, or the next tick
        await next.run(onTick());
        expect(await outcome(world)).toEqual(expected);
        const { metadata, leases } = next.assembly.confirmed.get('orders:billing') ?? {};
        expect(metadata !== undefined && leases !== undefined && findViolations(metadata, leases)).toEqual(
          [],
        );
      });
    }
  }
});

/** From this step on it never does anything again. */
function deathAt(step: (typeof STEPS)[number]): Interference {
  let isDead = false;
  return (call) => {
    if (call === step) isDead = true;
    return isDead ? new Promise(() => undefined) : undefined;
  };
}
