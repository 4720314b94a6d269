import type { HighestVersion } from '../../src/client/versions/highest-version';
import type { CoordinatorPort } from '../../src/client/consumer/coordinator-port';
import type { Judge, JudgedMember } from './judge';
import type { SimulatedProcess } from './scheduler';
import { ShardWork } from './shard-work';
import type { ShardUse, TenureLease } from './shard-work';
import type { RedisWorld } from './simulated-redis';
import type { PlantedFault } from './world';

export interface MemberWorld extends RedisWorld {
  readonly planted: PlantedFault | null;
}

export interface MemberParts {
  readonly world: MemberWorld;
  readonly judge: Judge;
  readonly process: SimulatedProcess;
  readonly memberId: string;
  readonly coordinator: CoordinatorPort;
  /** What a process before it with this id had kept; SDK clients only. */
  readonly highestVersion: HighestVersion;
}

/** What both kinds of clients have: a process with a clock of its own, a data plane, and the state that is judged. */
export abstract class SimulatedMember implements JudgedMember {
  readonly name: string;
  readonly memberId: string;
  readonly process: SimulatedProcess;
  abstract readonly memberEpoch: number;
  /** When an answer last said OK to a running tenure, by the world's time. */
  lastOkAtMs = Number.NEGATIVE_INFINITY;
  hasEnded = false;
  protected readonly work: ShardWork;
  protected lease: TenureLease = { endMs: Number.NEGATIVE_INFINITY };
  private readonly clockStartMs: number;

  constructor(protected readonly parts: MemberParts) {
    const { world, judge, process, memberId } = parts;
    this.name = process.name;
    this.memberId = memberId;
    this.process = process;
    this.clockStartMs = world.random.between(0, 1_000_000);
    this.work = new ShardWork({
      ...{ world, process },
      nowMs: () => this.nowMs(),
      mayWork: () => world.planted === 'NO_LEASE_CHECK' || this.mayWork(),
      onLeaseDoubt: () => this.checkLease(),
      onStarted: (shard, token) => {
        if (world.trace.isOn) world.trace.add(this.name, `reads ${shard} under ${token % 10_000_000}`);
        judge.started(this, shard, token);
      },
      onAck: (use) => judge.acked(this, use),
      onStopped: (shard) => this.shardStopped(shard),
    });
  }

  get isAlive(): boolean {
    return this.process.isAlive;
  }

  abstract start(): void;
  /** An orderly stop: drains and leaves. */
  abstract stop(): void;
  /** Whether this client takes shards. */
  abstract get isEligible(): boolean;

  usesNow(): readonly ShardUse[] {
    return this.work.usesNow();
  }

  isInLease(): boolean {
    return this.memberEpoch > 0 && this.nowMs() < this.lease.endMs;
  }

  readingShards(): number[] {
    return this.work.readingShards();
  }

  endEndlessHandlers(): void {
    this.work.endEndless();
  }

  /** Monotonic, with a start of its own; goes on while the process is paused. */
  protected nowMs(): number {
    return this.clockStartMs + this.parts.world.scheduler.nowMs;
  }

  protected abstract mayWork(): boolean;
  protected abstract checkLease(): void;
  protected abstract shardStopped(shard: number): void;
}
