import { sectionOptions } from '../../../src/critical-section/section-options';
import type { SectionOptions } from '../../../src/critical-section/section-options';
import { assembleSection } from '../../../src/critical-section/section-assembly';
import type { AssemblyParts, SectionAssembly } from '../../../src/critical-section/section-assembly';
import { onCompleteProvisioning, onCreateGroup } from '../../../src/domain/coordinator/on-admin';
import { onHeartbeat } from '../../../src/domain/coordinator/on-heartbeat';
import type { GroupCommand } from '../../../src/domain/coordinator/decision';
import type { HeartbeatReply, HeartbeatView } from '../../../src/domain/coordinator/heartbeat-reply';
import type { ConsumerGroup, GroupKey, Incarnation, MemberId, StreamPrefix } from '../../../src/domain/ids';
import type { HeartbeatRequest } from '../../../src/domain/membership/heartbeat-request';
import type { EpochMillis } from '../../../src/domain/time';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import type { GroupIndex } from '../../../src/store/group-index';
import { MemoryGroupIndex, MemoryLoopStore } from '../../../src/store/memory/memory-group-index';
import { MemoryMetadataStore } from '../../../src/store/memory/memory-metadata-store';
import { MemoryNode } from '../../../src/store/memory/memory-node';
import { MemoryNoticeBus } from '../../../src/store/memory/memory-streams';
import type { MetadataStore } from '../../../src/store/metadata-store';
import { FakeClock, settle } from './fake-clock';

export const KEY = groupKey('orders', 'billing');
const START_MS = 1_800_000_000_000;

export function groupKey(streamPrefix: string, consumerGroup: string): GroupKey {
  return { streamPrefix: streamPrefix as StreamPrefix, consumerGroup: consumerGroup as ConsumerGroup };
}

type StoreCall =
  | 'lockAndLoad'
  | 'commitAndUnlock'
  | 'unlock'
  | 'load'
  | 'renewLeases'
  | 'bringForward'
  | 'remove';

/** What a test does to a call of one coordinator: runs before it is passed on; throwing loses the request. */
export type Interference = (call: StoreCall, key: GroupKey) => void | Promise<void>;

/** One Redis (in memory) with a clock that the test moves, and any number of coordinators over it. */
export class SectionWorld {
  readonly clock = new FakeClock();
  readonly node = new MemoryNode(
    () => (START_MS + this.redisAheadMs + this.clock.monotonicMs()) as EpochMillis,
  );
  /** Set to make the Redis clock jump. */
  redisAheadMs = 0;

  coordinator(
    given: Partial<AssemblyParts> & { readonly limits?: Partial<SectionOptions> } = {},
  ): Coordinator {
    return new Coordinator(this, given);
  }

  get nowMs(): EpochMillis {
    return this.node.now();
  }
}

export class Coordinator {
  readonly calls: StoreCall[] = [];
  readonly assembly: SectionAssembly;
  readonly index: GroupIndex;
  readonly loopStore: MemoryLoopStore;
  before: Interference = () => undefined;
  /** Runs after the call took effect; throwing loses the answer. */
  after: Interference = () => undefined;
  private ids = 0;

  constructor(
    readonly world: SectionWorld,
    given: Partial<AssemblyParts> & { readonly limits?: Partial<SectionOptions> },
  ) {
    const { node, clock } = world;
    this.index = this.interfered(new MemoryGroupIndex(node));
    this.loopStore = new MemoryLoopStore(node);
    const name = `c${Math.abs(Coordinator.count++)}`;
    const { limits, ...parts } = given;
    this.assembly = assembleSection({
      store: this.interfered<MetadataStore>(new MemoryMetadataStore(node)),
      index: this.index,
      notices: new MemoryNoticeBus(node),
      options: {
        ...sectionOptions({ timing: DEFAULT_TIMING, maxMembers: 100, sectionBudgetMs: 3_000 }),
        gatherMs: 0, // so that the clock can stand still
        ...limits,
      },
      clock,
      random: { id: () => `${name}-${(this.ids += 1)}`, below: () => 0 },
      ...parts,
    });
    this.pass();
  }

  private static count = 0;

  /** As if the event loop had passed, with no outage before. */
  pass(): void {
    const { loopView } = this.assembly;
    loopView.recordPass(loopView.beginPass(), { redisNowMs: this.world.nowMs, quiet: null });
  }

  run<Reply>(command: GroupCommand<Reply>, key: GroupKey = KEY): Promise<Reply> {
    return this.assembly.section.run(key, command).then(({ reply }) => reply);
  }

  /** A provisioned group, with the calls forgotten. */
  async createGroup(shardCount: number, key: GroupKey = KEY): Promise<void> {
    const incarnation = `life-${this.world.nowMs}` as Incarnation;
    await this.run(onCreateGroup({ key, incarnation, shardCount, grantsFromMs: null }), key);
    await this.run(onCompleteProvisioning(), key);
    await settle();
    this.calls.length = 0;
  }

  async heartbeat(
    request: Partial<HeartbeatRequest> & { readonly memberId: MemberId },
  ): Promise<HeartbeatReply> {
    return this.run(heartbeat(request));
  }

  /** Joins and confirms: ACTIVE with everything assigned that is free. Forgets the calls. */
  async join(name: string): Promise<HeartbeatView> {
    const memberId = name as MemberId;
    const joined = answerOf(await this.heartbeat({ memberId, memberEpoch: 0 }));
    const { memberEpoch, metadataVersion } = joined;
    const active = answerOf(await this.heartbeat({ memberId, memberEpoch, metadataVersion }));
    await settle();
    this.calls.length = 0;
    return active;
  }

  private interfered<Port extends MetadataStore | GroupIndex>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name, receiver) => {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== 'function') return method;
        return async (key: GroupKey, ...rest: readonly unknown[]) => {
          const call = name as StoreCall;
          this.calls.push(call);
          await this.before(call, key);
          const outcome: unknown = await (Reflect.apply(method, target, [key, ...rest]) as Promise<unknown>);
          await this.after(call, key);
          return outcome;
        };
      },
    });
  }
}

export function heartbeat(
  request: Partial<HeartbeatRequest> & { readonly memberId: MemberId },
): GroupCommand<HeartbeatReply> {
  return onHeartbeat(
    {
      requestId: 'r-1',
      protocolVersion: 1,
      memberName: null,
      memberEpoch: 0,
      metadataVersion: 0,
      maxObservedVersion: null,
      instanceId: null,
      previousEpoch: null,
      maxConcurrency: 1,
      availableConcurrency: 1,
      owned: null,
      revoking: null,
      progress: [],
      ...request,
    },
    { min: 1, max: 1 },
  );
}

export function answerOf(reply: HeartbeatReply): HeartbeatView {
  if (reply.kind !== 'ANSWER') throw new Error(`refused: ${reply.code}`);
  return reply;
}
