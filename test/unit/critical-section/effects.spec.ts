import { describe, expect, it } from '@jest/globals';
import { EffectRunner } from '../../../src/critical-section/effects';
import { NO_SECTION_METRICS } from '../../../src/critical-section/section-metrics';
import { onCreateGroup, onDeleteGroup } from '../../../src/domain/coordinator/on-admin';
import type { Incarnation } from '../../../src/domain/ids';
import { ProvisioningError } from '../../../src/store/stream-provisioner';
import type { StreamProvisioner } from '../../../src/store/stream-provisioner';
import { KEY, SectionWorld } from '../../flow/critical-section/section-world';

const create = (life: string, shardCount = 2) =>
  onCreateGroup({ key: KEY, incarnation: life as Incarnation, shardCount, grantsFromMs: null });

function runner(provision: StreamProvisioner['provision']) {
  const coordinator = new SectionWorld().coordinator();
  const { section } = coordinator.assembly;
  const told: string[] = [];
  const effects = new EffectRunner({
    section,
    provisioner: { provision, purge: () => Promise.resolve() },
    faults: { report: (kind) => told.push(`log ${kind}`) },
    metrics: {
      ...NO_SECTION_METRICS,
      alerted: (alert) => told.push(`count ${alert}`),
      provisioningFailed: () => told.push('count failure'),
    },
  });
  return { coordinator, section, effects, told };
}

describe('the effect PROVISION', () => {
  it('creates the streams, then records that they exist', async () => {
    const asked: unknown[] = [];
    const { section, effects } = runner((...args) => Promise.resolve(void asked.push(args)));
    const created = await section.run(KEY, create('life-1', 3));
    expect(created.state.metadata?.provisioning).toBe('PENDING');
    const recorded = await effects.carryOut(KEY, created);
    expect(asked).toEqual([['orders', 3, 'billing']]);
    expect(recorded.metadata?.provisioning).toBe('COMPLETE');
  });

  it('leaves the group as it is when Redis refuses, counts it, and goes on when repeated', async () => {
    let isFailing = true;
    const { section, effects, told } = runner((streamPrefix) => {
      if (!isFailing) return Promise.resolve();
      return Promise.reject(new ProvisioningError(streamPrefix, 'OOM', true, { cause: null }));
    });
    const created = await section.run(KEY, create('life-1'));
    await expect(effects.carryOut(KEY, created)).rejects.toMatchObject({
      code: 'REDIS_STREAM_PROVISIONING_FAILED',
    });
    expect(told).toEqual(['count failure']);
    isFailing = false;
    const repeated = await section.run(KEY, create('life-2'));
    expect((await effects.carryOut(KEY, repeated)).metadata).toMatchObject({
      provisioning: 'COMPLETE',
      incarnation: 'life-1',
    });
  });

  it('does not complete another life of the group than the one it made the streams of', async () => {
    const { section, effects } = runner(async () => {
      await section.run(KEY, onDeleteGroup({ force: true, expectedVersion: null }));
      await section.run(KEY, create('life-2', 9));
    });
    const recorded = await effects.carryOut(KEY, await section.run(KEY, create('life-1')));
    expect(recorded.metadata).toMatchObject({ incarnation: 'life-2', provisioning: 'PENDING' });
  });
});

describe('the effect ALERT', () => {
  it('is counted and logged', async () => {
    const { effects, told } = runner(() => Promise.resolve());
    const state = { metadata: null, leases: new Map() };
    const alert = { kind: 'ALERT', alert: 'SHARD_NEVER_GRANTED', detail: 'm-1 claims 3' } as const;
    expect(await effects.carryOut(KEY, { effects: [alert], state })).toBe(state);
    expect(told).toEqual(['count SHARD_NEVER_GRANTED', 'log ALERT:SHARD_NEVER_GRANTED']);
  });
});
