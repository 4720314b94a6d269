import { groupKeyText } from '../../src/domain/ids';
import type { MemberId } from '../../src/domain/ids';
import { HighestVersion } from '../../src/client/versions/highest-version';
import { BaseMember } from './base-member';
import { FaultPlan } from './faults';
import type { FaultKind, TimedFault } from './faults';
import { Judge } from './judge';
import type { SimulatedMember } from './member';
import { SimulatedPublisher } from './publisher';
import { SeededRandom } from './random';
import { Scheduler, SimulatedProcess } from './scheduler';
import { SdkMember } from './sdk-member';
import { SimulatedCoordinator } from './simulated-coordinator';
import { SimulatedNetwork } from './simulated-network';
import { SimulatedRedis } from './simulated-redis';
import { TIMED_FAULT_EFFECTS } from './timed-faults';
import { KEY } from './timing';
import { Trace } from './trace';

const OPERATOR_RETRY_MS = 300;
const NUMBER_OF_COORDINATORS = 2;
/** How long a fault waits for the group to move, and how soon after that it strikes. */
const AWAIT_A_MOVE_MS = 4_000;
const BEHIND_A_MOVE_MS = 60;
const CHANCE_OF_ANOTHER = 0.3;
const ANOTHER_WITHIN_MS = 600;

/**
 * Something that must not be, to see that it is noticed:
 * LONG_LEASE      clients of the base kind believe in their lease for longer than they may
 * NO_LEASE_CHECK  workers do not look at the lease before they ack
 */
export type PlantedFault = 'LONG_LEASE' | 'NO_LEASE_CHECK';

export interface WorldOptions {
  readonly seed: number;
  readonly keepsTrace: boolean;
  readonly without: ReadonlySet<FaultKind>;
  readonly planted?: PlantedFault;
}

/** One simulated world: a Redis, coordinators, clients, a network between them, an operator, and faults. */
export class World {
  readonly scheduler = new Scheduler();
  readonly random: SeededRandom;
  readonly plan: FaultPlan;
  readonly trace: Trace;
  readonly judge: Judge;
  readonly redis: SimulatedRedis;
  readonly network: SimulatedNetwork;
  readonly members: SimulatedMember[] = [];
  readonly shardCount: number;
  private readonly keptVersions = new Map<string, HighestVersion>();
  private coordinatorCount = 0;
  private memberCount = 0;
  private memberIds = 0;
  readonly planted: PlantedFault | null;
  private isCreating = false;

  constructor({ seed, keepsTrace, without, planted }: WorldOptions) {
    this.planted = planted ?? null;
    this.random = new SeededRandom(seed);
    this.plan = new FaultPlan(this.random, without);
    this.trace = new Trace(keepsTrace, this.scheduler);
    this.judge = new Judge(this.trace, this.scheduler, () => this.redis.node);
    this.redis = new SimulatedRedis(this);
    this.network = new SimulatedNetwork(this, this.judge);
    this.shardCount = this.random.pick([1, 2, 3, 4, 4, 5]);
    this.trace.add('world', `seed ${seed}, ${this.shardCount} shards, ${this.plan.kinds.join(' ')}`);
    for (let address = 0; address < NUMBER_OF_COORDINATORS; address += 1) this.startCoordinator(address);
    this.askToCreate(0);
    const members = this.random.pick([1, 2, 3, 3, 3, 4]);
    for (let i = 0; i < members; i += 1) {
      this.scheduler.after(this.random.between(20, 2_000), null, () => this.startMember(this.newMemberId()));
    }
    if (this.random.chance(0.5)) new SimulatedPublisher(this, this.network, this.judge);
    for (const [kind, meanWaitMs] of this.plan.timed) this.strikeLater(kind, meanWaitMs);
  }

  runningMembers(): SimulatedMember[] {
    return this.members.filter(({ process, hasEnded }) => process.isAlive && !hasEnded);
  }

  hasGroup(): boolean {
    return this.redis.node.groups.has(groupKeyText(KEY));
  }

  newMemberId(): string {
    this.memberIds += 1;
    return `m${this.memberIds}`;
  }

  startMember(memberId: string): SimulatedMember {
    this.memberCount += 1;
    const process = new SimulatedProcess(`${memberId}/${this.memberCount}`);
    const coordinator = this.network.portOf(process);
    const highestVersion = this.highestVersionOf(memberId);
    const parts = { world: this, judge: this.judge, process, memberId, coordinator, highestVersion };
    const member = this.random.chance(0.35) ? new BaseMember(parts) : new SdkMember(parts);
    this.members.push(member);
    this.judge.members.add(member);
    process.onCrash(() => {
      this.trace.add(process.name, 'crashed');
      this.judge.members.delete(member);
    });
    this.trace.add(process.name, `starts as a ${member instanceof BaseMember ? 'base' : 'SDK'} client`);
    this.scheduler.after(0, process, () => member.start());
    return member;
  }

  /** With a version store, a process knows what the one before it had seen. */
  private highestVersionOf(memberId: string): HighestVersion {
    const kept = this.random.chance(0.5) ? this.keptVersions.get(memberId) : undefined;
    const highestVersion = kept ?? new HighestVersion();
    this.keptVersions.set(memberId, highestVersion);
    return highestVersion;
  }

  stopMember(member: SimulatedMember): void {
    this.scheduler.after(0, member.process, () => {
      this.trace.add(member.name, 'is asked to stop');
      member.stop();
    });
  }

  startCoordinatorLater(address: number, delayMs: number): void {
    this.scheduler.after(delayMs, null, () => this.startCoordinator(address));
  }

  /** The new one starts beside the old one, which terminates once the other listens. */
  replaceCoordinator(address: number): void {
    const old = this.network.coordinators[address] ?? null;
    const successor = this.createCoordinator();
    const takeOver = (): void => {
      if (!successor.isListening && successor.process.isAlive && old?.process.isAlive === true) {
        this.scheduler.after(50, null, takeOver);
        return;
      }
      if (this.network.coordinators[address] === old) this.network.coordinators[address] = successor;
      if (old !== null) this.scheduler.after(this.random.between(0, 100), old.process, () => old.terminate());
    };
    takeOver();
  }

  deleteMetadata(): void {
    this.redis.deleteMetadata(KEY);
    this.trace.add('redis', 'the metadata key is deleted');
    this.askToCreate(this.random.between(100, 8_000));
  }

  askToDelete(): void {
    this.operate('delete', async (coordinator) => coordinator.deleteGroup());
    this.askToCreate(this.random.between(100, 8_000));
  }

  askToFence(memberId: string): void {
    this.operate('fence', async (coordinator) => coordinator.fenceMember(memberId as MemberId));
  }

  /** The operator creates the group, again and again until it exists. One such task at a time. */
  askToCreate(delayMs: number): void {
    if (this.isCreating) return;
    this.isCreating = true;
    const attempt = (): void => {
      if (this.hasGroup() && this.plan.isOn) {
        this.isCreating = false;
        return;
      }
      // As after a failover, docs/protocol.md assumes that the clock is ahead of every number that was drawn before.
      const isClockAhead = this.redis.clockMs() > this.judge.writes.largestDrawn;
      if (!this.hasGroup() && isClockAhead) this.create();
      this.scheduler.after(OPERATOR_RETRY_MS, null, attempt);
    };
    this.scheduler.after(delayMs, null, attempt);
  }

  private create(): void {
    this.judge.requestedCreations += 1;
    this.operate('create', async (coordinator) => coordinator.createGroup(this.shardCount));
  }

  /** From now on nothing breaks any more, and everything that broke is put right. */
  endFaults(): void {
    const { scheduler, redis, network } = this;
    this.trace.add('world', 'faults end');
    this.plan.isOn = false;
    redis.slowUntilMs = 0;
    redis.comeBack();
    this.endTwins();
    const processes = [...this.members, ...network.coordinators].map((one) => one?.process);
    for (const process of processes) {
      if (process?.isPaused(scheduler.nowMs) === true) process.resumesAtMs = scheduler.nowMs;
    }
    for (const member of this.members) {
      scheduler.after(0, member.process, () => member.endEndlessHandlers());
    }
    network.coordinators.forEach((coordinator, address) => {
      if (coordinator?.process.isAlive !== true) this.startCoordinator(address);
    });
    // Goes on until the end: a deletion may still be under way.
    this.askToCreate(0);
  }

  /** Two processes with one id fence each other for ever: the younger one stays. */
  private endTwins(): void {
    const byId = new Map(this.runningMembers().map((member) => [member.memberId, member]));
    for (const member of this.runningMembers()) {
      if (byId.get(member.memberId) !== member) member.process.crash();
    }
  }

  private startCoordinator(address: number): void {
    if (this.network.coordinators[address]?.process.isAlive === true) return;
    this.network.coordinators[address] = this.createCoordinator();
  }

  private createCoordinator(): SimulatedCoordinator {
    this.coordinatorCount += 1;
    const coordinator = new SimulatedCoordinator(`c${this.coordinatorCount}`, this.redis, this.judge);
    this.trace.add(coordinator.process.name, 'starts');
    coordinator.process.onCrash(() => this.trace.add(coordinator.process.name, 'is gone'));
    return coordinator;
  }

  private operate(what: string, act: (coordinator: SimulatedCoordinator) => Promise<void>): void {
    const coordinator = this.random.pick(this.network.coordinators);
    if (coordinator?.isListening !== true) return;
    this.scheduler.after(0, coordinator.process, () => {
      act(coordinator).then(
        () => this.trace.add('admin', `${what} done`),
        (error: unknown) => {
          const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
          this.trace.add('admin', `${what} refused: ${code}`);
          this.judge.coverage.count(`admin ${what} refused: ${code}`);
        },
      );
    });
  }

  /** Every other fault waits for a write that moves shards, and strikes right behind it: that is where the traps are. */
  private strikeLater(kind: TimedFault, meanWaitMs: number): void {
    const { scheduler, random } = this;
    scheduler.after(random.waitMs(meanWaitMs), null, () => {
      if (random.chance(0.5)) {
        this.strike(kind, meanWaitMs);
        return;
      }
      let hasStruck = false;
      const strikeOnce = (): void => {
        if (hasStruck) return;
        hasStruck = true;
        this.strike(kind, meanWaitMs);
      };
      this.judge.onceMoved(() => scheduler.after(random.between(0, BEHIND_A_MOVE_MS), null, strikeOnce));
      scheduler.after(AWAIT_A_MOVE_MS, null, strikeOnce);
    });
  }

  private strike(kind: TimedFault, meanWaitMs: number): void {
    if (!this.plan.isOn) return;
    if (TIMED_FAULT_EFFECTS[kind](this)) {
      this.plan.count(kind);
      this.trace.add('FAULT', kind);
    }
    this.strikeLater(kind, meanWaitMs);
    if (this.random.chance(CHANCE_OF_ANOTHER)) this.strikeAnother();
  }

  /** Misfortunes come together: what one fault alone cannot do, two at about the same time may. */
  private strikeAnother(): void {
    const [kind] = this.random.pick([...this.plan.timed]);
    this.scheduler.after(this.random.between(0, ANOTHER_WITHIN_MS), null, () => {
      if (!this.plan.isOn || !TIMED_FAULT_EFFECTS[kind](this)) return;
      this.plan.count(kind);
      this.trace.add('FAULT', `${kind}, too`);
    });
  }
}
