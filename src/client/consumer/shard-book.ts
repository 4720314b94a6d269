import type { ShardIndex } from '../../domain/ids';
import type { MonotonicMillis } from '../../domain/time';
import type { HeartbeatAssignment, RevokingShard, ShardId } from '../../protocol';
import type { SessionCommand } from './session-commands';

/**
 * The shards of one tenure, as this client has them. A shard is
 * READING   assigned by an answer and started. It stays so, in every kind of answer, for as long as it is assigned
 * DRAINING  an answer did not assign it any more; it never reads again unless a later answer assigns it
 * REVOKED   nothing runs on it; reported until an answer no longer counts it as this member's
 * Enters by an answer that assigns it; leaves by that answer, or with the tenure. Written by MemberSession only.
 */
interface Hold {
  state: 'READING' | 'DRAINING' | 'REVOKED';
  /** Never falls while it is READING. */
  token: number;
  /** While DRAINING: when its handlers are aborted. */
  drainDeadlineMs: MonotonicMillis;
  isAborted: boolean;
}

export interface AppliedView {
  readonly assignment: HeartbeatAssignment;
  /** False in a correction round and while leaving: nothing is started, nothing drained is taken back. */
  readonly mayStart: boolean;
  /** The shards that the answered request reported as REVOKED. */
  readonly reportedRevoked: ReadonlySet<ShardIndex>;
  readonly drainDeadlineMs: MonotonicMillis;
}

/** The client's drain deadline comes this share of the rebalance timeout before the coordinator's, a heartbeat interval at least. */
const DRAIN_MARGIN_SHARE = 0.1;

/** When handlers of a shard are aborted that was to be drained from `fromMs` on. */
export function drainDeadline(
  fromMs: MonotonicMillis,
  rebalanceTimeoutMs: number,
  heartbeatIntervalMs: number,
): MonotonicMillis {
  const marginMs = Math.max(rebalanceTimeoutMs * DRAIN_MARGIN_SHARE, heartbeatIntervalMs);
  return (fromMs + Math.max(0, rebalanceTimeoutMs - marginMs)) as MonotonicMillis;
}

const NEVER = Number.POSITIVE_INFINITY as MonotonicMillis;

export class ShardBook {
  private readonly holds = new Map<ShardIndex, Hold>();

  /** Follows an answer; the commands bring the shards to where it wants them. */
  apply(view: AppliedView): SessionCommand[] {
    const commands: SessionCommand[] = [];
    const assigned = grantsOf(view.assignment);
    const revoking = view.assignment.revokingShards ?? null;
    const stillRevoking = revoking === null ? null : new Set(revoking.map(indexOf));
    for (const [shard, hold] of this.holds) {
      if (assigned.has(shard)) continue;
      if (hold.state === 'READING') commands.push(...this.drain(shard, view.drainDeadlineMs));
      const isForgotten =
        stillRevoking === null ? view.reportedRevoked.has(shard) : !stillRevoking.has(shard);
      if (hold.state === 'REVOKED' && isForgotten) this.holds.delete(shard);
    }
    for (const [shard, token] of assigned) {
      const hold = this.holds.get(shard);
      if (hold?.state === 'READING') {
        commands.push(...renewToken(hold, shard, token));
        continue;
      }
      if (!view.mayStart) continue;
      this.holds.set(shard, { state: 'READING', token, drainDeadlineMs: NEVER, isAborted: false });
      commands.push({ kind: 'START', shard, token });
    }
    return commands;
  }

  drainAll(deadlineMs: MonotonicMillis): SessionCommand[] {
    return [...this.holds.keys()].flatMap((shard) => this.drain(shard, deadlineMs));
  }

  private drain(shard: ShardIndex, deadlineMs: MonotonicMillis): SessionCommand[] {
    const hold = this.holds.get(shard);
    if (hold?.state !== 'READING') return [];
    hold.state = 'DRAINING';
    hold.drainDeadlineMs = deadlineMs;
    return [{ kind: 'DRAIN', shard }];
  }

  /** Nothing runs on the shard any more. True when that is news to report. */
  stopped(shard: ShardIndex): boolean {
    const hold = this.holds.get(shard);
    if (hold?.state !== 'DRAINING') return false;
    hold.state = 'REVOKED';
    return true;
  }

  abortOverdue(nowMs: MonotonicMillis): SessionCommand[] {
    const commands: SessionCommand[] = [];
    for (const [shard, hold] of this.holds) {
      if (hold.state !== 'DRAINING' || hold.isAborted || nowMs < hold.drainDeadlineMs) continue;
      hold.isAborted = true;
      commands.push({ kind: 'ABORT_DRAIN', shard });
    }
    return commands;
  }

  /** When `abortOverdue` has something to do next. */
  nextDeadlineMs(): MonotonicMillis {
    let next: MonotonicMillis = NEVER;
    for (const hold of this.holds.values()) {
      if (hold.state === 'DRAINING' && !hold.isAborted && hold.drainDeadlineMs < next) {
        next = hold.drainDeadlineMs;
      }
    }
    return next;
  }

  clear(): void {
    this.holds.clear();
  }

  owned(): ShardIndex[] {
    return this.inState('READING');
  }

  revoked(): Set<ShardIndex> {
    return new Set(this.inState('REVOKED'));
  }

  /** Shards on which something may run. */
  running(): ShardIndex[] {
    return [...this.inState('READING'), ...this.inState('DRAINING')];
  }

  hasRunning(): boolean {
    return this.running().length > 0;
  }

  revokeReports(inFlightOf: (shard: ShardIndex) => number): RevokingShard[] {
    const draining = this.inState('DRAINING').map((shard): RevokingShard => {
      return { shard: { shardIndex: shard }, state: 'DRAINING', inFlight: inFlightOf(shard) };
    });
    const revoked = this.inState('REVOKED').map((shard): RevokingShard => {
      return { shard: { shardIndex: shard }, state: 'REVOKED', inFlight: 0 };
    });
    return [...draining, ...revoked];
  }

  private inState(state: Hold['state']): ShardIndex[] {
    const shards: ShardIndex[] = [];
    for (const [shard, hold] of this.holds) if (hold.state === state) shards.push(shard);
    return shards;
  }
}

/**
 * Another token for a shard that is read does not mean that somebody else had it in between. This tenure has kept it since it
 * was started: a shard is freed by a report of its drain, and none was made, or with its tenure, which runs. A correction
 * round that begins draws new tokens for what is held. So it is read on. A coordinator that tells none, or one of a lost
 * timeline, takes nothing away: the handlers have used the higher one.
 */
function renewToken(hold: Hold, shard: ShardIndex, token: number): SessionCommand[] {
  if (token <= hold.token) return [];
  hold.token = token;
  return [{ kind: 'RENEW_TOKEN', shard, token }];
}

/** Assigned shards with their fencing tokens; 0 for coordinators that send none. */
function grantsOf(assignment: HeartbeatAssignment): Map<ShardIndex, number> {
  const tokens = new Map(
    (assignment.fencingTokens ?? []).map(({ shardIndex, token }) => [shardIndex, token]),
  );
  return new Map(assignment.assignedShards.map((id) => [indexOf(id), tokens.get(id.shardIndex) ?? 0]));
}

function indexOf({ shardIndex }: ShardId): ShardIndex {
  return shardIndex as ShardIndex;
}
