import type { ShardIndex } from '../../domain/ids';
import type { HeartbeatAnswer } from '../../protocol';
import type { Clock } from './clock';
import { coordinatorFailureOf } from './coordinator-port';
import type { CoordinatorPort } from './coordinator-port';
import type { OutgoingHeartbeat } from './heartbeat-request';
import type { MemberSession } from './member-session';
import type { SessionCommand } from './session-commands';

export interface HeartbeatLoopOptions {
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  readonly memberId: string;
  /** Milliseconds a request may take, waiting time of a long poll aside; bounded by a share of the lease. */
  readonly requestTimeoutMs: number;
  /** Carries a command of the session out, at once. ABANDON_REQUEST is the loop's own. */
  readonly execute: (command: SessionCommand) => void;
  readonly onFailure: (error: unknown) => void;
  readonly onAnswer: (answer: HeartbeatAnswer) => void;
}

/** A request that hangs must leave time for others before the lease ends. */
const REQUEST_SHARE_OF_LEASE = 0.25;
/** A timer may fire a little before its time by the monotonic clock: it is then set once more, not spun on. */
const MIN_TIMER_MS = 1;

/**
 * Drives a member session: passes it the time, sends what it wants to be sent, one request at a time, and carries out its
 * commands in order, also those that come up while others are carried out.
 * States: not started; running (a timer is set, a request is under way, or both); ended, when the session has ended.
 */
export class HeartbeatLoop {
  private cancelTimer: () => void = () => undefined;
  private request: AbortController | null = null;
  private readonly commands: SessionCommand[] = [];
  private isExecuting = false;
  private hasStarted = false;

  constructor(
    private readonly session: MemberSession,
    private readonly coordinator: CoordinatorPort,
    private readonly clock: Clock,
    private readonly options: HeartbeatLoopOptions,
  ) {}

  start(): void {
    this.hasStarted = true;
    this.step([]);
  }

  stop(): void {
    this.step(this.session.stop(this.clock.nowMs()));
  }

  shardStopped(shard: ShardIndex): void {
    this.step(this.session.shardStopped(shard, this.clock.nowMs()));
  }

  /** Looks at the lease now, not at the next timer: for whoever finds that it may be over. */
  checkLease(): void {
    this.step([]);
  }

  private step(commands: readonly SessionCommand[]): void {
    this.commands.push(...commands, ...this.session.tick(this.clock.nowMs()));
    if (this.isExecuting) return; // the execution under way gets to them
    this.isExecuting = true;
    try {
      for (let next = this.commands.shift(); next !== undefined; next = this.commands.shift()) {
        if (next.kind === 'ABANDON_REQUEST') this.abandon();
        else this.options.execute(next);
      }
    } finally {
      this.isExecuting = false;
    }
    if (!this.hasStarted) return;
    const heartbeat = this.session.poll(this.clock.nowMs());
    if (heartbeat !== null) this.send(heartbeat);
    this.setTimer();
  }

  private setTimer(): void {
    this.cancelTimer();
    const delayMs = this.session.nextWakeMs() - this.clock.nowMs();
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.clock.after(Math.max(delayMs, MIN_TIMER_MS), () => this.step([]));
  }

  private send({ sequence, body, waitMs }: OutgoingHeartbeat): void {
    const { streamPrefix, consumerGroup, memberId, requestTimeoutMs } = this.options;
    const request = new AbortController();
    this.request = request;
    const ownMs = Math.min(requestTimeoutMs, this.session.currentLeaseTtlMs * REQUEST_SHARE_OF_LEASE);
    const call = { signal: request.signal, timeoutMs: Math.ceil(waitMs + ownMs) };
    this.coordinator.heartbeat(streamPrefix, consumerGroup, memberId, body, call).then(
      (answer) => {
        if (this.request !== request) return; // abandoned: its answer is never applied
        this.request = null;
        this.options.onAnswer(answer);
        this.step(this.session.answered(sequence, answer, this.clock.nowMs()));
      },
      (error: unknown) => {
        if (this.request !== request) return;
        this.request = null;
        this.options.onFailure(error);
        this.step(this.session.failed(sequence, coordinatorFailureOf(error), this.clock.nowMs()));
      },
    );
  }

  private abandon(): void {
    const { request } = this;
    this.request = null;
    request?.abort();
  }
}
