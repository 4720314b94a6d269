import { MemberSession } from '../../../../src/client/consumer/member-session';
import type { OutgoingHeartbeat } from '../../../../src/client/consumer/heartbeat-request';
import type { SessionCommand } from '../../../../src/client/consumer/session-commands';
import type { HighestVersion } from '../../../../src/client/versions/highest-version';
import type { ShardIndex } from '../../../../src/domain/ids';
import type { MonotonicMillis } from '../../../../src/domain/time';
import type { HeartbeatAnswer, HeartbeatStatus, ShardId } from '../../../../src/protocol';

export const INTERVAL_MS = 3_000;
export const LEASE_MS = 15_000;
export const REBALANCE_MS = 60_000;

export interface ScriptedAnswer {
  readonly status?: HeartbeatStatus;
  readonly epoch?: number;
  readonly version?: number;
  readonly assigned?: readonly number[];
  readonly pending?: readonly number[];
  /** null: a coordinator that does not say. */
  readonly revoking?: readonly number[] | null;
  /** Same for all assigned shards. */
  readonly token?: number;
}

/** Drives a session by hand: time moves only when told, requests are answered only when told. */
export class SessionBench {
  nowMs = 1_000 as MonotonicMillis;
  readonly inFlight = new Map<number, number>();
  readonly session: MemberSession;
  private ids = 0;
  private lastEpoch = 100;
  private lastVersion = 10;

  constructor(
    options: {
      readonly longPoll?: boolean;
      readonly random?: () => number;
      readonly highestVersion?: HighestVersion;
    } = {},
  ) {
    this.session = new MemberSession(
      {
        memberId: 'm0',
        memberName: null,
        timing: {
          heartbeatIntervalMs: INTERVAL_MS,
          memberLeaseTtlMs: LEASE_MS,
          rebalanceTimeoutMs: REBALANCE_MS,
        },
        longPoll: options.longPoll ?? false,
        newId: () => `id-${(this.ids += 1)}`,
        random: options.random ?? (() => 0),
        ...(options.highestVersion === undefined ? {} : { highestVersion: options.highestVersion }),
      },
      {
        inFlight: (shard) => this.inFlight.get(shard) ?? 0,
        availableConcurrency: () => 1,
        progress: () => [],
      },
    );
  }

  pass(ms: number): SessionCommand[] {
    this.nowMs = (this.nowMs + ms) as MonotonicMillis;
    return this.session.tick(this.nowMs);
  }

  poll(): OutgoingHeartbeat | null {
    return this.session.poll(this.nowMs);
  }

  /** The request that is due; fails when none is. */
  send(): OutgoingHeartbeat {
    const sent = this.poll();
    if (sent === null) throw new Error('no request is due');
    return sent;
  }

  /** Passes the time until the next request, at most a heartbeat interval, and sends it. */
  sendNext(): OutgoingHeartbeat {
    const waitMs = this.session.nextWakeMs() - this.nowMs;
    if (waitMs > INTERVAL_MS) throw new Error(`nothing is due within ${waitMs} ms`);
    if (waitMs > 0) this.pass(waitMs);
    return this.send();
  }

  answer(sent: OutgoingHeartbeat, answer: ScriptedAnswer = {}): SessionCommand[] {
    if (sent.kind === 'JOIN') this.lastEpoch = answer.epoch ?? this.lastEpoch + 1;
    if (answer.version !== undefined) this.lastVersion = answer.version;
    return this.session.answered(sent.sequence, this.answerTo(sent, answer), this.nowMs);
  }

  fail(
    sent: OutgoingHeartbeat,
    httpStatus: number | null = 503,
    errorCode: string | null = 'COORDINATOR_TERMINATING',
  ): SessionCommand[] {
    const failure = { httpStatus, errorCode, message: 'scripted', cause: null };
    return this.session.failed(sent.sequence, failure, this.nowMs);
  }

  stopped(shard: number): SessionCommand[] {
    return this.session.shardStopped(shard as ShardIndex, this.nowMs);
  }

  stop(): SessionCommand[] {
    return this.session.stop(this.nowMs);
  }

  get mayWork(): boolean {
    return this.session.mayWork(this.nowMs);
  }

  /** Joins and owns these shards; the first beat is not sent yet. */
  join(...assigned: number[]): SessionCommand[] {
    return this.answer(this.send(), { assigned });
  }

  private answerTo(sent: OutgoingHeartbeat, scripted: ScriptedAnswer): HeartbeatAnswer {
    const assigned = scripted.assigned ?? [];
    const { revoking } = scripted;
    return {
      responseTo: sent.body.requestId,
      status: scripted.status ?? 'OK',
      memberId: 'm0',
      memberEpoch: scripted.epoch ?? this.lastEpoch,
      heartbeatIntervalMs: INTERVAL_MS,
      rebalanceTimeoutMs: REBALANCE_MS,
      leaseTtlMs: LEASE_MS,
      groupEpoch: 1,
      assignmentEpoch: 1,
      metadataVersion: this.lastVersion,
      assignment: {
        assignedShards: ids(assigned),
        pendingShards: ids(scripted.pending ?? []),
        fencingTokens: assigned.map((shardIndex) => ({ shardIndex, token: scripted.token ?? 7 })),
        metadataVersion: this.lastVersion,
        ...(revoking === null ? {} : { revokingShards: ids(revoking ?? []) }),
      },
    };
  }
}

function ids(shards: readonly number[]): ShardId[] {
  return shards.map((shardIndex) => ({ shardIndex }));
}

/** Commands as short words: `START 3`, `STOP_ALL LEASE_OVER`. */
export function words(commands: readonly SessionCommand[]): string[] {
  return commands.map((command) => {
    switch (command.kind) {
      case 'RENEW_TOKEN':
        return `RENEW_TOKEN ${command.shard} ${command.token}`;
      case 'START':
      case 'DRAIN':
      case 'ABORT_DRAIN':
        return `${command.kind} ${command.shard}`;
      case 'STOP_ALL':
        return `STOP_ALL ${command.reason}`;
      case 'REFUSED':
        return `REFUSED ${command.status}`;
      default:
        return command.kind;
    }
  });
}

export function owned(sent: OutgoingHeartbeat): number[] {
  return (sent.body.ownedShards ?? []).map(({ shardIndex }) => shardIndex);
}

/** `2 DRAINING 1`: shard, state, in flight. */
export function revoking(sent: OutgoingHeartbeat): string[] {
  return (sent.body.revokingShards ?? []).map(
    ({ shard, state, inFlight }) => `${shard.shardIndex} ${state} ${inFlight}`,
  );
}
