import { Controller, Get, Global, Module, Post, UseInterceptors } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { OptionsModule } from '../../../src/config/options.module';
import { readOptions } from '../../../src/config/read-options';
import { CriticalSectionInterceptor } from '../../../src/critical-section/critical-section.interceptor';
import { CriticalSectionModule } from '../../../src/critical-section/critical-section.module';
import { GroupWatch } from '../../../src/critical-section/group-watch';
import { sectionRequest } from '../../../src/critical-section/section-request';
import { ShutdownGate } from '../../../src/critical-section/shutdown-gate';
import { onCreateGroup } from '../../../src/domain/coordinator/on-admin';
import type { Incarnation } from '../../../src/domain/ids';
import type { EpochMillis } from '../../../src/domain/time';
import { EventLoopModule } from '../../../src/event-loop/event-loop.module';
import { HttpModule } from '../../../src/http/http.module';
import { MetricsModule } from '../../../src/metrics/metrics.module';
import { MemoryGroupIndex, MemoryLoopStore } from '../../../src/store/memory/memory-group-index';
import { MemoryMetadataStore } from '../../../src/store/memory/memory-metadata-store';
import { MemoryNode } from '../../../src/store/memory/memory-node';
import { MemoryNoticeBus, MemoryStreamProvisioner } from '../../../src/store/memory/memory-streams';
import {
  GROUP_INDEX,
  LOOP_STORE,
  METADATA_STORE,
  NOTICE_BUS,
  STREAM_PROVISIONER,
} from '../../../src/store/store.tokens';
import { KEY } from './section-world';
import { bump } from './tiny-commands';

const node = new MemoryNode(() => Date.now() as EpochMillis);

@UseInterceptors(CriticalSectionInterceptor)
@Controller('probe')
class ProbeController {
  constructor(private readonly watch: GroupWatch) {}

  @Post('create')
  create() {
    const incarnation = 'life-1' as Incarnation;
    return sectionRequest({
      key: KEY,
      command: onCreateGroup({ key: KEY, incarnation, shardCount: 2, grantsFromMs: null }),
      respond: (_reply, { metadata }) => ({ provisioning: metadata?.provisioning }),
    });
  }

  @Post('wait')
  wait() {
    return sectionRequest({
      key: KEY,
      command: bump(),
      respond: async (version) => {
        const isChanged = () => false;
        return { version, change: await this.watch.waitForChange(KEY, isChanged, 60_000) };
      },
    });
  }

  @Post('bypass')
  bypass() {
    return { changed: true };
  }

  @Get('read')
  read() {
    return { read: true };
  }
}

@Global()
@Module({
  controllers: [ProbeController],
  providers: [
    { provide: METADATA_STORE, useValue: new MemoryMetadataStore(node) },
    { provide: GROUP_INDEX, useValue: new MemoryGroupIndex(node) },
    { provide: LOOP_STORE, useValue: new MemoryLoopStore(node) },
    { provide: NOTICE_BUS, useValue: new MemoryNoticeBus(node) },
    { provide: STREAM_PROVISIONER, useValue: new MemoryStreamProvisioner(node) },
  ],
  exports: [METADATA_STORE, GROUP_INDEX, LOOP_STORE, NOTICE_BUS, STREAM_PROVISIONER],
})
class MemoryStoreModule {}

describe('the critical section in a Nest application', () => {
  let app: NestFastifyApplication;

  beforeEach(async () => {
    node.restore(new MemoryNode(node.now).snapshot());
    const read = readOptions({ AUTH: 'disabled' });
    if (!read.ok) throw new Error(read.refusal.join('; '));
    const testing = await Test.createTestingModule({
      imports: [
        OptionsModule.with(read.value.options),
        MetricsModule,
        HttpModule,
        MemoryStoreModule,
        CriticalSectionModule,
        EventLoopModule,
      ],
    }).compile();
    testing.useLogger(false);
    app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    await app.init();
  });

  afterEach(async () => {
    await app.close();
  });

  const post = (path: string) => app.inject({ method: 'POST', url: `/probe/${path}` });

  it('has passed once, and is scheduled, before it listens', () => {
    expect(node.loop?.lastPassMs).toBeGreaterThan(0);
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual(['event-loop']);
  });

  it('runs what mutating routes return, effects included', async () => {
    const answer = await post('create');
    expect([answer.statusCode, answer.json()]).toEqual([201, { provisioning: 'COMPLETE' }]);
    expect([...node.streams.keys()]).toEqual(['orders:0', 'orders:1']);
  });

  it('answers a mutating route that passes by with an error, and leaves reads alone', async () => {
    expect((await post('bypass')).statusCode).toBe(500);
    const read = await app.inject({ method: 'GET', url: '/probe/read' });
    expect(read.json()).toEqual({ read: true });
  });

  it('answers long polls at once when it terminates, refuses what comes then, and ticks no more', async () => {
    await post('create');
    const watch = app.get(GroupWatch);
    const polled = post('wait');
    while (watch.size === 0) await new Promise((resolve) => setImmediate(resolve));
    const scheduler = app.get(SchedulerRegistry);
    app.get(ShutdownGate).close();
    expect((await polled).json()).toMatchObject({ change: null });
    const refused = await post('create');
    expect([refused.statusCode, refused.json<unknown>()]).toMatchObject([
      503,
      { errorCode: 'COORDINATOR_TERMINATING', retryable: true },
    ]);
    expect(refused.headers['retry-after']).toBe('1');
    expect(scheduler.getIntervals()).toEqual([]);
  });
});
