import { describe, expect, it } from '@jest/globals';

import { nextDueMs } from '../../../../src/domain/group/due-time';
import { groupState } from '../../../../src/domain/group/derived-state';
import type { GroupMetadata } from '../../../../src/domain/group/group-metadata';
import { findViolations } from '../../../../src/domain/group/invariants';
import { parseGroupKeyText } from '../../../../src/domain/ids';
import type { EpochMillis } from '../../../../src/domain/time';
import { DEFAULT_TIMING } from '../../../../src/protocol/timing';
import { GroupWorld, LEASE_MS } from '../../../support/group-world';

function dueIn(world: GroupWorld): number {
  return (
    nextDueMs(world.metadata, world.state.leases, DEFAULT_TIMING, world.nowMs as EpochMillis) - world.nowMs
  );
}

describe('the due time of a group', () => {
  it('is one lease away for a group without members: the slow sweep', () => {
    expect(dueIn(GroupWorld.withShards(1))).toBe(LEASE_MS);
  });

  it('is the earliest end of a lease', () => {
    const world = GroupWorld.withShards(1);
    world.member('a').join();
    world.advance(4_000);
    world.member('b').join();
    expect(dueIn(world)).toBe(LEASE_MS - 4_000);
  });

  it('is the next tick, never sooner, for what is over or held back', () => {
    const world = GroupWorld.withShards(1);
    world.mayGrant = false;
    world.member('a').join();
    expect(dueIn(world)).toBe(DEFAULT_TIMING.tickIntervalMs);
    world.advance(LEASE_MS + 1);
    expect(dueIn(world)).toBe(DEFAULT_TIMING.tickIntervalMs);
  });
});

describe('the state of a group', () => {
  it('is EMPTY, STABLE, RECONCILING, STABLE as a second member comes', () => {
    const world = GroupWorld.withShards(2);
    expect(groupState(world.metadata)).toBe('EMPTY');
    const a = world.member('a');
    a.join();
    expect(groupState(world.metadata)).toBe('STABLE');
    world.member('b').join();
    expect(groupState(world.metadata)).toBe('RECONCILING');
    a.beat({ revoked: a.beat().revoking });
    expect(groupState(world.metadata)).toBe('STABLE');
  });
});

describe('the invariants of a group', () => {
  const world = GroupWorld.withShards(2);
  world.member('a').join();
  const { metadata } = world;
  const broken: readonly (readonly [string, Partial<GroupMetadata>])[] = [
    [
      'a target that is no member',
      { shards: metadata.shards.map((shard) => ({ ...shard, target: 'ghost' as never })) },
    ],
    ['a holder that is no member', { members: new Map() }],
    ['fewer shards than shardCount', { shardCount: 3 }],
    ['an epoch that was never issued', { lastMemberEpoch: 1 as never }],
    [
      'a version that is not the newest recent one',
      { metadataVersion: (metadata.metadataVersion + 1) as never },
    ],
    [
      'a drain by its own target',
      {
        shards: metadata.shards.map((shard) => ({
          ...shard,
          occupancy: {
            kind: 'HELD' as const,
            memberId: 'a' as never,
            drain: { recordedVersion: 1 as never, deadlineMs: 1 as never },
          },
        })),
      },
    ],
  ];

  it.each(broken)('notices %s', (_fault, change) => {
    expect(findViolations(metadata, world.state.leases)).toEqual([]);
    expect(findViolations({ ...metadata, ...change }, world.state.leases)).not.toEqual([]);
  });

  it('notices a live member without a lease, and a lease without a member', () => {
    expect(findViolations(metadata, new Map())).not.toEqual([]);
    expect(
      findViolations(metadata, new Map([...world.state.leases, ['ghost' as never, 1 as never]])),
    ).not.toEqual([]);
  });
});

describe('the text of a group key', () => {
  it('is read back as it was written, colons in the stream prefix included', () => {
    expect(parseGroupKeyText('a:b:group')).toEqual({ streamPrefix: 'a:b', consumerGroup: 'group' });
  });

  it.each(['', 'nocolon', ':g', 'p:', 'p:{g}'])('is refused when it is %p', (text) => {
    expect(parseGroupKeyText(text)).toBeNull();
  });
});
