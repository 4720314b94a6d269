import { describe, expect, it } from '@jest/globals';
import { decideBatch } from '../../../src/critical-section/batch-decision';
import { DOMAIN_RULES } from '../../../src/critical-section/section-assembly';
import type { DecisionContext, GroupCommand, GroupState } from '../../../src/domain/coordinator/decision';
import { onCreateGroup, onDeleteGroup } from '../../../src/domain/coordinator/on-admin';
import { unchanged } from '../../../src/domain/coordinator/transition';
import type { Incarnation, MemberId } from '../../../src/domain/ids';
import type { EpochMillis } from '../../../src/domain/time';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import { heartbeat, KEY } from '../../flow/critical-section/section-world';
import { breaking, bump, failing, look } from '../../flow/critical-section/tiny-commands';

const NOW = 1_800_000_000_000 as EpochMillis;
const CONTEXT: DecisionContext = {
  nowMs: NOW,
  drawMs: NOW,
  timing: DEFAULT_TIMING,
  mayEndTenures: true,
  mayGrant: true,
  maxMembers: 10,
  recordedVersion: null,
  redisId: 'node-1/repl-1',
  remembered: null,
};
const NO_GROUP: GroupState = { metadata: null, leases: new Map() };
const create = onCreateGroup({
  key: KEY,
  incarnation: 'life-1' as Incarnation,
  shardCount: 2,
  grantsFromMs: null,
});
const remove = onDeleteGroup({ force: true, expectedVersion: null });
const join = (name: string) => heartbeat({ memberId: name as MemberId });

function decide(state: GroupState, ...commands: readonly GroupCommand<unknown>[]) {
  const recordedVersion = state.metadata?.metadataVersion ?? null;
  return decideBatch(state, commands, { ...CONTEXT, recordedVersion }, DOMAIN_RULES);
}

const group = decide(NO_GROUP, create).state;

describe('a batch of commands', () => {
  it('is decided in order, each on the outcome of the one before', () => {
    const seen: number[] = [];
    const spy: GroupCommand<null> = {
      name: 'spy',
      decide: (state) => {
        seen.push(state.metadata?.metadataVersion ?? 0, state.leases.size);
        return unchanged(state, () => null);
      },
    };
    const { state, outcomes } = decide(group, spy, join('m-1'), spy, bump(), spy);
    const version = group.metadata!.metadataVersion;
    expect(seen[0]).toBe(version);
    expect(seen.filter((_, position) => position % 2 === 1)).toEqual([0, 1, 1]);
    expect(seen[4]).toBeGreaterThan(seen[2]!);
    expect(state.metadata!.metadataVersion).toBe(seen[4]);
    expect(outcomes).toHaveLength(5);
  });

  it('leaves the loaded state alone', () => {
    const before = JSON.stringify(group.metadata);
    const leases = new Map(group.leases);
    decide(group, join('m-1'), bump());
    expect(JSON.stringify(group.metadata)).toBe(before);
    expect(group.leases).toEqual(leases);
  });

  it('is the loaded object itself when nothing changes', () => {
    const { state, leaseChanges, reports } = decide(group, look, look);
    expect(state).toBe(group);
    expect([leaseChanges.size, reports.size]).toEqual([0, 0]);
  });

  it('goes on without a command that throws', () => {
    const { outcomes, state } = decide(group, failing, bump());
    expect(outcomes.map(({ kind }) => kind)).toEqual(['FAILED', 'DECIDED']);
    expect(state.metadata).not.toBe(group.metadata);
  });

  it('goes on without the one command that breaks an invariant', () => {
    const { outcomes, state } = decide(group, join('m-1'), breaking, join('m-2'));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['DECIDED', 'FAILED', 'DECIDED']);
    expect(outcomes[1]).toMatchObject({ error: { code: 'INVARIANT_VIOLATION' } });
    expect([...state.metadata!.members.keys()]).toEqual(['m-1', 'm-2']);
    expect(state.metadata!.shardCount).toBe(2);
  });

  it('ends after a command that creates the group, which is decided alone', () => {
    expect(decide(NO_GROUP, create, join('m-1')).outcomes).toHaveLength(1);
  });

  it('ends before a command that creates or deletes the group, if others were decided', () => {
    expect(decide(NO_GROUP, look, create, look).outcomes).toHaveLength(1);
    expect(decide(group, join('m-1'), remove, look).outcomes).toHaveLength(1);
    expect(decide(group, remove, join('m-1')).outcomes).toHaveLength(1);
  });

  it('keeps whose tenure a deletion ends, so that their leases are compared', () => {
    const joined = decide(group, join('m-1')).state;
    const { endedTenures, state } = decide(joined, remove);
    expect(state.metadata).toBeNull();
    expect([...endedTenures]).toEqual(['m-1']);
  });

  it('records all under one new version: what is between two commands nobody ever sees', () => {
    const { metadata } = decide(group, join('m-1'), join('m-2'), join('m-3')).state;
    const before = group.metadata?.recentVersions ?? [];
    expect(metadata?.recentVersions).toEqual([...before, metadata?.metadataVersion]);
  });

  it('tells what changed from what did not', () => {
    const { outcomes } = decide(group, look, bump());
    expect(outcomes).toMatchObject([{ isChange: false }, { isChange: true }]);
  });
});
