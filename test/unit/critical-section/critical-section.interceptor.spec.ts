import { describe, expect, it } from '@jest/globals';
import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { lastValueFrom, of } from 'rxjs';
import { CriticalSection } from '../../../src/critical-section/critical-section';
import { CriticalSectionInterceptor } from '../../../src/critical-section/critical-section.interceptor';
import { EffectRunner } from '../../../src/critical-section/effects';
import { NO_SECTION_METRICS } from '../../../src/critical-section/section-metrics';
import { SectionDoor } from '../../../src/critical-section/section-door';
import { isSectionRequest, sectionRequest } from '../../../src/critical-section/section-request';
import { onCreateGroup } from '../../../src/domain/coordinator/on-admin';
import type { Incarnation } from '../../../src/domain/ids';
import { MemoryStreamProvisioner } from '../../../src/store/memory/memory-streams';
import { KEY, SectionWorld } from '../../flow/critical-section/section-world';
import { bump } from '../../flow/critical-section/tiny-commands';

class OrdersController {
  change(): void {
    // only its name is looked at
  }
}

function requestWith(method: string): ExecutionContext {
  const context: Partial<ExecutionContext> = {
    getClass: () => OrdersController as never,
    getHandler: () => OrdersController.prototype.change,
    switchToHttp: () => ({ getRequest: () => ({ method }) }) as never,
  };
  return context as ExecutionContext;
}

const returning = (value: unknown): CallHandler => ({ handle: () => of(value) });

function intercepted() {
  const world = new SectionWorld();
  const coordinator = world.coordinator();
  const { section } = coordinator.assembly;
  const provisioner = new MemoryStreamProvisioner(world.node);
  const metrics = NO_SECTION_METRICS;
  const effects = new EffectRunner({ section, provisioner, faults: { report: () => undefined }, metrics });
  const interceptor = new CriticalSectionInterceptor(new SectionDoor(section, effects));
  const answer = (method: string, value: unknown): Promise<unknown> =>
    lastValueFrom(interceptor.intercept(requestWith(method), returning(value)));
  return { world, coordinator, answer };
}

describe('the critical section interceptor', () => {
  it('runs the request and answers with what it makes of the reply', async () => {
    const { coordinator, answer } = intercepted();
    await coordinator.createGroup(2);
    const request = sectionRequest({
      key: KEY,
      command: bump(),
      respond: (version, { metadata }) => ({ version, recorded: metadata?.metadataVersion }),
    });
    const { version, recorded } = (await answer('POST', request)) as Record<string, number>;
    expect(version).toBe(recorded);
    expect(coordinator.calls).toEqual(['lockAndLoad', 'commitAndUnlock']);
  });

  it('waits for an answer that takes its time, outside of the section', async () => {
    const { coordinator, answer } = intercepted();
    await coordinator.createGroup(2);
    const respond = async (version: number) => (await coordinator.run(bump())) - version;
    expect(await answer('POST', sectionRequest({ key: KEY, command: bump(), respond }))).toBe(1);
  });

  it('carries out the effects before it answers', async () => {
    const { world, answer } = intercepted();
    const command = onCreateGroup({
      key: KEY,
      incarnation: 'life-1' as Incarnation,
      shardCount: 2,
      grantsFromMs: null,
    });
    const request = sectionRequest({
      key: KEY,
      command,
      respond: (_reply, { metadata }) => [metadata?.provisioning, [...world.node.streams.keys()]],
    });
    expect(await answer('POST', request)).toEqual(['COMPLETE', ['orders:0', 'orders:1']]);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'refuses a %s route that returns anything else',
    async (method) => {
      const { answer } = intercepted();
      await expect(answer(method, { ok: true })).rejects.toThrow(
        'OrdersController.change returned no SectionRequest',
      );
      await expect(answer(method, undefined)).rejects.toThrow('SectionRequest');
    },
  );

  it('lets a reading route answer by itself', async () => {
    expect(await intercepted().answer('GET', { groups: [] })).toEqual({ groups: [] });
  });

  it('lets the request answer when the group moved under every attempt', async () => {
    const { coordinator, answer } = intercepted();
    await coordinator.createGroup(2);
    coordinator.before = (call) => {
      if (call === 'commitAndUnlock') coordinator.world.node.locks = new Map();
    };
    const request = sectionRequest({ key: KEY, command: bump(), respond: () => 'never' });
    await expect(answer('POST', request)).rejects.toMatchObject({ code: 'STATE_CONFLICT', retryable: true });
    const tolerant = { ...request, respondToConflict: () => ({ status: 'RETRY' }) };
    expect(await answer('POST', tolerant)).toEqual({ status: 'RETRY' });
  });

  it('passes on what the section refuses', async () => {
    const { coordinator, answer } = intercepted();
    coordinator.assembly.gate.close();
    const request = sectionRequest({ key: KEY, command: bump(), respond: () => 'never' });
    await expect(answer('POST', request)).rejects.toMatchObject({ code: 'COORDINATOR_TERMINATING' });
  });

  it('is given its parts by their classes', () => {
    expect(Reflect.getMetadata('design:paramtypes', CriticalSectionInterceptor)).toEqual([SectionDoor]);
    expect(Reflect.getMetadata('design:paramtypes', SectionDoor)).toEqual([CriticalSection, EffectRunner]);
  });
});

describe('a section request', () => {
  it('is told from other values by its shape', () => {
    const request = { key: KEY, command: bump(), respond: () => null };
    expect(isSectionRequest(request)).toBe(true);
    for (const other of [
      null,
      undefined,
      'text',
      {},
      { ...request, command: {} },
      { ...request, respond: 1 },
    ]) {
      expect(isSectionRequest(other)).toBe(false);
    }
  });
});
