import type { Clock } from '../../src/client/consumer/clock';
import { HeartbeatLoop } from '../../src/client/consumer/heartbeat-loop';
import { MemberSession } from '../../src/client/consumer/member-session';
import type { SessionCommand } from '../../src/client/consumer/session-commands';
import type { ShardIndex } from '../../src/domain/ids';
import type { MonotonicMillis } from '../../src/domain/time';
import { SimulatedMember } from './member';
import type { MemberParts } from './member';
import { KEY, REQUEST_TIMEOUT_MS, TIMING } from './timing';

/** A client of the SDK: its own session and heartbeat loop; only clock, network and data plane are simulated. */
export class SdkMember extends SimulatedMember {
  memberEpoch = 0;
  readonly isEligible = true;
  private readonly session: MemberSession;
  private readonly loop: HeartbeatLoop;

  constructor(parts: MemberParts) {
    super(parts);
    const { random, scheduler } = parts.world;
    const clock: Clock = {
      nowMs: () => this.nowMs() as MonotonicMillis,
      after: (delayMs, callback) => scheduler.after(delayMs, this.process, callback),
    };
    this.session = new MemberSession(
      {
        ...{ memberId: parts.memberId, memberName: null, timing: TIMING },
        longPoll: random.chance(0.7),
        highestVersion: parts.highestVersion,
        newId: () => random.id(`${this.name}-`),
        random: () => random.next(),
      },
      {
        inFlight: (shard) => this.work.inFlight(shard),
        availableConcurrency: () => 1,
        progress: () => [],
      },
    );
    const { streamPrefix, consumerGroup } = KEY;
    this.loop = new HeartbeatLoop(this.session, this.answering(), clock, {
      ...{ streamPrefix, consumerGroup, memberId: parts.memberId, requestTimeoutMs: REQUEST_TIMEOUT_MS },
      execute: (command) => this.execute(command),
      onFailure: () => undefined,
      onAnswer: () => undefined,
    });
  }

  start(): void {
    this.loop.start();
  }

  stop(): void {
    this.loop.stop();
  }

  protected mayWork(): boolean {
    return this.session.mayWork(this.nowMs() as MonotonicMillis);
  }

  protected checkLease(): void {
    this.loop.checkLease();
  }

  protected shardStopped(shard: number): void {
    this.loop.shardStopped(shard as ShardIndex);
  }

  /** The port, with a look at what is answered. */
  private answering(): MemberParts['coordinator'] {
    const { coordinator, world } = this.parts;
    return {
      ...coordinator,
      heartbeat: async (...args) => {
        const answer = await coordinator.heartbeat(...args);
        if (answer.status === 'OK' && answer.memberEpoch > 0) this.lastOkAtMs = world.scheduler.nowMs;
        return answer;
      },
    };
  }

  private execute(command: SessionCommand): void {
    const { judge, world } = this.parts;
    switch (command.kind) {
      case 'TENURE_STARTED':
        this.memberEpoch = command.memberEpoch;
        this.lease = { endMs: Number.NEGATIVE_INFINITY };
        break;
      case 'LEASE_RENEWED': {
        const nowMs = this.nowMs();
        this.lease.endMs = nowMs + this.session.leaseRemainingMs(nowMs as MonotonicMillis);
        break;
      }
      case 'START':
        this.work.start(command.shard, command.token, this.lease);
        break;
      case 'DRAIN':
        this.work.drain(command.shard);
        break;
      case 'ABORT_DRAIN':
        judge.coverage.count('drain aborted');
        this.work.abortDrain(command.shard);
        break;
      case 'STOP_ALL':
        if (world.trace.isOn) world.trace.add(this.name, `tenure over: ${command.reason}`);
        judge.coverage.count(`tenure over: ${command.reason}`);
        this.memberEpoch = 0;
        this.work.stopAll();
        break;
      case 'RENEW_TOKEN':
        this.work.renewToken(command.shard, command.token);
        break;
      case 'CORRECTION_STARTED':
      case 'CORRECTION_ENDED':
        judge.coverage.count(`SDK client: ${command.kind}`);
        break;
      case 'GROUP_MISSING':
        break;
      case 'REFUSED':
        judge.violated('NO_DEFECT', `${this.name} was refused: ${command.status} ${command.message}`);
        break;
      case 'ENDED':
        this.hasEnded = true;
        break;
      case 'ABANDON_REQUEST':
        break; // the loop's own
    }
  }
}
