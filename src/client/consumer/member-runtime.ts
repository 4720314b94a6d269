import type { ShardIndex, StreamPrefix } from '../../domain/ids';
import { ClientClosedError, GroupNotFoundError, ProtocolRefusedError } from '../errors';
import type { GroupCommands } from '../redis/group-commands';
import type { GroupReads } from '../redis/group-reads';
import type { Clock } from './clock';
import type { RevokeReason } from './consumer-events';
import type { ConsumerMetrics } from './consumer-metrics';
import type { CoordinatorPort } from './coordinator-port';
import type { FaultReport } from './fault-report';
import { FlushTurn } from './flush-turn';
import { HeartbeatLoop } from './heartbeat-loop';
import { HeldShards } from './held-shards';
import { MemberSession } from './member-session';
import { Reader } from './reader';
import { SingleNodePlan } from './read-plan';
import type { SessionCommand, TenureEnd } from './session-commands';
import type { MemberSessionOptions } from './session-options';
import type { HandlingOptions } from './worker-environment';
import { WorkerSet } from './worker-set';

export interface MemberRuntimeOptions {
  readonly streamPrefix: StreamPrefix;
  readonly consumerGroup: string;
  readonly session: MemberSessionOptions;
  readonly requestTimeoutMs: number;
  readonly handling: HandlingOptions;
  readonly coordinator: CoordinatorPort;
  readonly commands: GroupCommands;
  readonly reads: GroupReads;
  readonly clock: Clock;
  readonly metrics: ConsumerMetrics;
  readonly faults: FaultReport;
  readonly listener: MemberListener;
}

export interface MemberListener {
  onAssigned(memberId: string, shard: number, token: number): void;
  onRevoked(memberId: string, shard: number, reason: RevokeReason): void;
  onTenureLost(memberId: string, memberEpoch: number, reason: TenureEnd): void;
  onCorrectionStarted(memberId: string, metadataVersion: number): void;
  /** `metadataVersion` is null when the member ended in the round. */
  onCorrectionEnded(memberId: string, metadataVersion: number | null): void;
  onGroupMissing(): void;
  /** The member has ended for good. */
  onFatal(error: Error): void;
}

/** What the first answered join said. */
export interface JoinSummary {
  readonly assigned: number;
  readonly pending: number;
}

/** Handlers that ignore their abort signal are waited for so long after the last tenure ended. Milliseconds. */
const STRAGGLER_GRACE_MS = 1_000;

/**
 * One logical member at work: its session, driven by the heartbeat loop; its shard workers; the reader of its connection.
 * Carries the session's commands out and tells the application. Lives from `start` until `stop` resolves.
 */
export class MemberRuntime {
  readonly memberId: string;
  /** Settles with the first answer to a join, or with what makes a join impossible. */
  readonly joined: Promise<JoinSummary>;
  private readonly session: MemberSession;
  private readonly loop: HeartbeatLoop;
  private readonly workers: WorkerSet;
  private readonly reader: Reader;
  private readonly ended: Promise<void>;
  private readonly held = new HeldShards();
  private lastAnswerMs: number | null = null;
  private tellJoined: (summary: JoinSummary) => void = () => undefined;
  private refuseJoin: (error: Error) => void = () => undefined;
  private tellEnded: () => void = () => undefined;
  private tellIdle: () => void = () => undefined;

  constructor(private readonly options: MemberRuntimeOptions) {
    this.memberId = options.session.memberId;
    this.joined = new Promise((resolve, reject) => {
      this.tellJoined = resolve;
      this.refuseJoin = reject;
    });
    this.joined.catch(() => undefined); // whoever starts the consumer looks at it
    this.ended = new Promise((resolve) => (this.tellEnded = resolve));
    this.workers = this.createWorkers();
    this.session = new MemberSession(options.session, this.workers);
    this.reader = this.createReader();
    this.loop = this.createLoop();
  }

  get ownedShards(): readonly ShardIndex[] {
    return this.held.owned;
  }

  get drainingShardCount(): number {
    return this.held.drainingCount;
  }

  /** Milliseconds, 0 without a lease. */
  get leaseRemainingMs(): number {
    return this.session.leaseRemainingMs(this.options.clock.nowMs());
  }

  /** Milliseconds since a heartbeat was last answered; null: none was. */
  get heartbeatAgeMs(): number | null {
    return this.lastAnswerMs === null ? null : this.options.clock.nowMs() - this.lastAnswerMs;
  }

  start(): void {
    this.reader.run().catch((error: unknown) => this.defect(error));
    this.loop.start();
  }

  /** Drains and leaves. False when handlers still ran a while after they were aborted. */
  async stop(): Promise<boolean> {
    this.loop.stop();
    await this.ended;
    const isIdle = await this.untilIdle();
    this.reader.close();
    return isIdle;
  }

  private async untilIdle(): Promise<boolean> {
    if (this.workers.isEmpty) return true;
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(STRAGGLER_GRACE_MS, () => resolve(false));
      this.tellIdle = () => {
        cancel();
        resolve(true);
      };
    });
  }

  private execute(command: SessionCommand): void {
    const { listener, metrics, clock } = this.options;
    switch (command.kind) {
      case 'TENURE_STARTED':
        this.workers.beginTenure(command.memberEpoch);
        this.tellJoined(command);
        break;
      case 'LEASE_RENEWED':
        this.reader.poke();
        break;
      case 'START':
        this.workers.start(command.shard, command.token);
        this.held.own(command.shard);
        metrics.assigned();
        listener.onAssigned(this.memberId, command.shard, command.token);
        break;
      case 'RENEW_TOKEN':
        this.workers.renewToken(command.shard, command.token);
        break;
      case 'CORRECTION_STARTED':
        listener.onCorrectionStarted(this.memberId, command.metadataVersion);
        break;
      case 'CORRECTION_ENDED':
        this.workers.lookForPending();
        listener.onCorrectionEnded(this.memberId, command.metadataVersion);
        break;
      case 'DRAIN':
        this.held.drain(command.shard, clock.nowMs());
        this.workers.drain(command.shard);
        break;
      case 'ABORT_DRAIN':
        this.workers.abortDrain(command.shard);
        break;
      case 'STOP_ALL':
        this.stopAll(command.reason, command.memberEpoch);
        break;
      case 'GROUP_MISSING': {
        const { streamPrefix, consumerGroup } = this.options;
        this.refuseJoin(new GroupNotFoundError(streamPrefix, consumerGroup));
        listener.onGroupMissing();
        break;
      }
      case 'REFUSED':
        this.fatal(new ProtocolRefusedError(command.status, command.message));
        break;
      case 'ENDED':
        this.refuseJoin(new ClientClosedError('the consumer')); // unless it has joined
        listener.onCorrectionEnded(this.memberId, null);
        this.tellEnded();
        break;
      case 'ABANDON_REQUEST':
        break; // the loop's own
    }
  }

  private stopAll(reason: TenureEnd, memberEpoch: number): void {
    const { listener, metrics } = this.options;
    const shards = this.held.takeAll();
    this.workers.stopAll();
    metrics.tenureEnded(reason);
    for (const shard of shards) {
      metrics.revoked(reason);
      listener.onRevoked(this.memberId, shard, reason);
    }
    listener.onTenureLost(this.memberId, memberEpoch, reason);
  }

  private shardStopped(shard: ShardIndex): void {
    const { metrics, listener, clock } = this.options;
    const drainMs = this.held.drained(shard, clock.nowMs());
    if (drainMs !== null) {
      metrics.drained(drainMs);
      metrics.revoked('DRAINED');
      listener.onRevoked(this.memberId, shard, 'DRAINED');
    }
    this.loop.shardStopped(shard);
  }

  private fatal(error: Error): void {
    this.refuseJoin(error);
    this.options.listener.onFatal(error);
  }

  private defect(error: unknown): void {
    this.fatal(error instanceof Error ? error : new Error(String(error)));
  }

  private createWorkers(): WorkerSet {
    const { streamPrefix, handling, commands, clock, metrics, faults, session } = this.options;
    return new WorkerSet({
      environment: {
        ...{ streamPrefix, handling, commands, clock, metrics, faults },
        turn: new FlushTurn((work) => commands.together(work)),
        mayWork: () => this.session.mayWork(clock.nowMs()),
        ...{ memberId: session.memberId, random: session.random },
      },
      mayWorkAt: (nowMs) => this.session.mayWork(nowMs),
      leaseTtlMs: () => this.session.currentLeaseTtlMs,
      onLeaseDoubt: () => this.loop.checkLease(),
      onReadInterest: () => this.reader.poke(),
      onReadUnwanted: () => this.reader.interrupt(),
      onShardStopped: (shard) => this.shardStopped(shard),
      onEmpty: () => this.tellIdle(),
      onDefect: (error) => this.defect(error),
    });
  }

  private createReader(): Reader {
    const { reads, clock, faults, metrics, handling, commands, session } = this.options;
    return new Reader({
      ...{ reads, clock, faults, metrics, plan: new SingleNodePlan() },
      random: session.random,
      count: handling.readCount,
      workers: () => this.workers.all(),
      consumer: () => this.workers.consumer,
      leaseRemainingMs: () => this.session.leaseRemainingMs(clock.nowMs()),
      leaseTtlMs: () => this.session.currentLeaseTtlMs,
      unblock: async (clientId) => commands.unblock(clientId),
    });
  }

  private createLoop(): HeartbeatLoop {
    const { streamPrefix, consumerGroup, requestTimeoutMs, coordinator, clock, metrics, faults } =
      this.options;
    return new HeartbeatLoop(this.session, coordinator, clock, {
      ...{ streamPrefix, consumerGroup, requestTimeoutMs, memberId: this.memberId },
      execute: (command) => this.execute(command),
      onAnswer: ({ status }) => {
        this.lastAnswerMs = clock.nowMs();
        metrics.heartbeat(status);
      },
      onFailure: (error) => {
        metrics.heartbeat('FAILED');
        faults.report('HEARTBEAT', error);
      },
    });
  }
}
