import 'reflect-metadata';
import { DeleteGroupDto } from '../../src/admin/admin.dto';
import { GroupAdministration } from '../../src/admin/group-administration';
import { StreamRegistration } from '../../src/admin/stream-registration';
import type { CoordinatorOptions } from '../../src/config/coordinator-options';
import { EffectRunner } from '../../src/critical-section/effects';
import { GroupReader } from '../../src/critical-section/group-reader';
import type { Clock } from '../../src/critical-section/runtime-ports';
import { assembleSection } from '../../src/critical-section/section-assembly';
import type { SectionAssembly } from '../../src/critical-section/section-assembly';
import { SectionDoor } from '../../src/critical-section/section-door';
import { NO_SECTION_METRICS } from '../../src/critical-section/section-metrics';
import type { FaultReporter, SectionMetrics } from '../../src/critical-section/section-metrics';
import { onFenceMember } from '../../src/domain/coordinator/on-admin';
import { onHeartbeat } from '../../src/domain/coordinator/on-heartbeat';
import { onTick } from '../../src/domain/coordinator/on-tick';
import type { MemberId } from '../../src/domain/ids';
import type { MonotonicMillis } from '../../src/domain/time';
import { DueGroups } from '../../src/event-loop/due-groups';
import { EventLoop } from '../../src/event-loop/event-loop';
import { NO_LOOP_METRICS } from '../../src/event-loop/loop-metrics';
import { invalidRequest } from '../../src/http/api-error';
import { reportedDetails } from '../../src/http/validation/error-details';
import { HeartbeatAnswers } from '../../src/membership/heartbeat-answers';
import { heartbeatConflicts } from '../../src/membership/heartbeat-conflicts';
import { heartbeatRequestOf } from '../../src/membership/heartbeat-request';
import { CoordinatorMetrics } from '../../src/metrics/coordinator-metrics';
import { MAX_PROTOCOL_VERSION, MIN_PROTOCOL_VERSION } from '../../src/protocol';
import type { HeartbeatAnswer, HeartbeatBody, ProducerRouting } from '../../src/protocol';
import { ProducerRoutingService } from '../../src/routing/producer-routing.service';
import { RoutingQueryDto } from '../../src/routing/routing.dto';
import { MemoryGroupIndex, MemoryLoopStore } from '../../src/store/memory/memory-group-index';
import { MemoryMetadataStore } from '../../src/store/memory/memory-metadata-store';
import { MemoryStreamProvisioner, MemoryStreamRegistry } from '../../src/store/memory/memory-streams';
import type { Judge } from './judge';
import { SimulatedProcess } from './scheduler';
import { RedisConnection } from './simulated-redis';
import type { SimulatedRedis } from './simulated-redis';
import { KEY, SECTION_OPTIONS, SHUTDOWN_GRACE_MS, TIMING } from './timing';

const PROTOCOL = { min: MIN_PROTOCOL_VERSION, max: MAX_PROTOCOL_VERSION };
const MAX_SHARDS = 64;

/** What the routes count: nothing here looks at it. */
const ROUTE_METRICS = new CoordinatorMetrics();

/**
 * One coordinator process: the real critical section, event loop, doors and answers; only Redis, clock and chance are simulated.
 * Created; LISTENING after the first pass of its event loop; dead when it crashes or has terminated.
 */
export class SimulatedCoordinator {
  readonly process: SimulatedProcess;
  readonly assembly: SectionAssembly;
  isListening = false;
  private readonly door: SectionDoor;
  private readonly answers: HeartbeatAnswers;
  private readonly loop: EventLoop;
  private readonly administration: GroupAdministration;
  private readonly routes: ProducerRoutingService;

  constructor(
    name: string,
    private readonly redis: SimulatedRedis,
    private readonly judge: Judge,
  ) {
    const { scheduler, random } = redis.world;
    this.process = new SimulatedProcess(name);
    const connection = new RedisConnection(redis, this.process);
    const clock = this.createClock(random.between(0, 1_000_000));
    const memoryStore = new MemoryMetadataStore(redis.node);
    const store = connection.over(memoryStore, (call, args, run) => judge.watchStore(call, args, run));
    const index = connection.over(new MemoryGroupIndex(redis.node));
    const provisioner = connection.over(new MemoryStreamProvisioner(redis.node));
    const registry = connection.over(new MemoryStreamRegistry(redis.node));
    const metrics = this.createMetrics();
    const faults: FaultReporter = { report: (kind, level, fields) => judge.reported(kind, level, fields) };
    this.assembly = assembleSection({
      ...{ store, index, notices: connection.notices(), options: SECTION_OPTIONS, metrics, clock },
      random: { id: () => random.id(`${name}-`), below: (limit) => random.below(limit) },
    });
    const { section, confirmed, watch, gate, loopView, clockGuard } = this.assembly;
    const effects = new EffectRunner({ section, provisioner, faults, metrics });
    const options = { timing: TIMING, defaultShardCount: 1, maxShardCount: MAX_SHARDS } as CoordinatorOptions;
    this.door = new SectionDoor(section, effects);
    this.answers = new HeartbeatAnswers(options, watch, ROUTE_METRICS);
    const parts = { section, effects, index, confirmed, timing: TIMING, faults };
    const dueGroups = new DueGroups({ ...parts, metrics: NO_LOOP_METRICS, tickCommand: onTick });
    const loopStore = connection.over(new MemoryLoopStore(redis.node));
    const loopParts = {
      coordinatorId: name,
      timing: TIMING,
      loopStore,
      dueGroups,
      gate,
      loopView,
      clockGuard,
    };
    this.loop = new EventLoop({ ...loopParts, clock, faults, metrics: NO_LOOP_METRICS });
    const reader = new GroupReader(this.assembly, confirmed);
    this.routes = new ProducerRoutingService(options, reader, watch, section, effects);
    const registration = new StreamRegistration(registry, options, reader, loopStore);
    this.administration = new GroupAdministration(options, provisioner, registration, reader, gate);
    scheduler.after(0, this.process, () => this.start());
  }

  /** The route of a heartbeat. Rejects as the route would answer with an error. */
  async heartbeat(body: HeartbeatBody, signal: () => AbortSignal): Promise<HeartbeatAnswer> {
    const memberId = body.memberId as MemberId;
    const conflicts = heartbeatConflicts(body, memberId, MAX_SHARDS);
    if (conflicts.length > 0) throw invalidRequest(reportedDetails(conflicts));
    const request = heartbeatRequestOf(body, memberId);
    const answer = await this.door.answer({
      key: KEY,
      command: onHeartbeat(request, PROTOCOL),
      respond: (decided) => this.answers.answer(KEY, request, decided, { waitMs: body.waitMs ?? 0, signal }),
      respondToConflict: () => this.answers.retry(request),
    });
    return answer as HeartbeatAnswer;
  }

  /** The route of a publisher's refresh. */
  async routing(seen: {
    readonly metadataVersion: number;
    readonly maxObservedVersion: number;
  }): Promise<ProducerRouting> {
    return this.routes.routing(
      KEY,
      Object.assign(new RoutingQueryDto(), seen),
      () => new AbortController().signal,
    );
  }

  async createGroup(shardCount: number): Promise<void> {
    const request = await this.administration.create(KEY, shardCount, (metadata) => {
      const { streamPrefix, consumerGroup, metadataVersion } = metadata;
      return { streamPrefix, consumerGroup, shardCount, metadataVersion };
    });
    await this.door.answer(request);
  }

  async deleteGroup(): Promise<void> {
    const asked = { requestedBy: 'operator', reason: 'simulation', force: true };
    const body = Object.assign(new DeleteGroupDto(), asked);
    const request = await this.administration.delete(KEY, body, (metadata) => {
      const { streamPrefix, consumerGroup, shardCount, metadataVersion } = metadata;
      return { streamPrefix, consumerGroup, shardCount, metadataVersion };
    });
    await this.door.answer(request);
  }

  async fenceMember(memberId: MemberId): Promise<void> {
    const command = onFenceMember({ memberId, expectedVersion: null });
    await this.door.answer({ key: KEY, command, respond: () => null });
  }

  /** As on SIGTERM: new requests are refused, what holds a lock is finished, then the process ends. */
  terminate(): void {
    this.assembly.section.terminate(SHUTDOWN_GRACE_MS).then(
      () => {
        this.redis.world.scheduler.after(20, this.process, () => this.process.crash());
      },
      (error: unknown) => this.judge.violated('TERMINATION', String(error)),
    );
  }

  private start(): void {
    this.loop.tick().then(
      () => {
        this.isListening = true;
        this.tickLater();
      },
      (error: unknown) => this.judge.violated('EVENT_LOOP', String(error)),
    );
  }

  private tickLater(): void {
    this.redis.world.scheduler.after(TIMING.tickIntervalMs, this.process, () => {
      if (this.assembly.gate.isClosed) return;
      this.tickLater();
      this.loop.tick().catch((error: unknown) => this.judge.violated('EVENT_LOOP', String(error)));
    });
  }

  private createClock(startMs: number): Clock {
    const { scheduler } = this.redis.world;
    return {
      monotonicMs: () => (startMs + scheduler.nowMs) as MonotonicMillis,
      schedule: (delayMs, callback) => scheduler.after(delayMs, this.process, callback),
      soon: (callback) => {
        scheduler.after(0, this.process, callback);
      },
    };
  }

  private createMetrics(): SectionMetrics {
    const { judge } = this;
    return {
      ...NO_SECTION_METRICS,
      commitRefused: (kind) => judge.coverage.count(`commit refused: ${kind}`),
      fastPathHit: (count) => judge.coverage.count('lease renewed by the fast path', count),
      fastPathMiss: (reason) => judge.coverage.count(`fast path missed: ${reason}`),
      alerted: (alert) => judge.alerted(alert),
    };
  }
}
