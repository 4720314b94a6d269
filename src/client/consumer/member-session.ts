import type { ShardIndex } from '../../domain/ids';
import type { MonotonicMillis } from '../../domain/time';
import type { HeartbeatAnswer, HeartbeatStatus } from '../../protocol';
import { HighestVersion } from '../versions/highest-version';
import type { CoordinatorFailure } from './coordinator-port';
import { HeartbeatPace } from './heartbeat-pace';
import { heartbeatBody, RequestSlot } from './heartbeat-request';
import type { OutgoingHeartbeat, RequestKind, ShardActivity } from './heartbeat-request';
import { Lease } from './lease';
import { correctionNews } from './session-commands';
import type { SessionCommand, TenureEnd } from './session-commands';
import type { MemberSessionOptions } from './session-options';
import { ShardBook } from './shard-book';
import { TenureIdentity } from './tenure-identity';
import { ToldTimes } from './told-times';

/** How long an orderly stop waits for its drains before it tells the coordinator that it leaves with some still open. */
const LEAVE_GRACE_MS = 50;

const NEVER = Number.POSITIVE_INFINITY as MonotonicMillis;

/**
 * One logical member of a group: what it believes to own, until when, and what it tells the coordinator next. No clock, no
 * timer, no network: whoever drives it passes the monotonic time in, sends what `poll` returns, hands back what comes of it,
 * and carries out the commands of every call before the next one.
 *
 * JOINING  no tenure. Asks for one with epoch 0 once nothing of the last tenure runs, or its lease is over.
 * MEMBER   a tenure with an epoch and a lease. Follows what the answers assign.
 * LEAVING  asked to stop: drains everything, leaves with epoch -1, keeps the lease up by plain heartbeats meanwhile.
 * ENDED    nothing more happens.
 * A tenure ends when its lease is over, when it is refused (fenced, unknown), or by leaving. All its shards are then forgotten.
 * Every call looks at the lease before anything else: a process that was paused past it notices first.
 * In a correction round it keeps what it reads and is assigned, drains the rest, starts nothing, and reports often.
 * Source: docs/protocol.md, Members, Heartbeat and Metadata correction.
 */
export class MemberSession {
  private phase: 'JOINING' | 'MEMBER' | 'LEAVING' | 'ENDED' = 'JOINING';
  private readonly book = new ShardBook();
  private readonly slot = new RequestSlot();
  private readonly identity: TenureIdentity;
  private readonly pace: HeartbeatPace;
  private readonly times: ToldTimes;
  private lease = Lease.none();
  /** Of the tenure before, and the shards on which something of it may still run. */
  private formerLease = Lease.none();
  private readonly winding = new Set<ShardIndex>();
  private dueMs = Number.NEGATIVE_INFINITY as MonotonicMillis;
  /** The coordinator has a leave of this tenure. */
  private isLeaveRecorded = false;
  /** Something became REVOKED that no answered request has reported. */
  private hasUnreportedRevoke = false;
  /** The last answer that was followed was one of a correction round, which a lost tenure does not end. */
  private isCorrecting = false;

  constructor(
    private readonly options: MemberSessionOptions,
    private readonly activity: ShardActivity,
  ) {
    this.pace = new HeartbeatPace(options.timing.heartbeatIntervalMs, options.random);
    this.times = new ToldTimes(options.timing, this.pace);
    this.identity = new TenureIdentity(options.newId, options.highestVersion ?? new HighestVersion());
  }

  /** Whether anything may be read, handled or acked at this instant. */
  mayWork(nowMs: MonotonicMillis): boolean {
    return this.isInTenure() && !this.lease.isOver(nowMs);
  }

  /** Milliseconds, 0 when there is no lease. */
  leaseRemainingMs(nowMs: MonotonicMillis): number {
    return this.isInTenure() ? this.lease.remainingMs(nowMs) : 0;
  }

  get currentLeaseTtlMs(): number {
    return this.times.leaseTtlMs;
  }

  /** When `tick` and `poll` have something to do next; infinite when only an answer or a stopped shard can change anything. */
  nextWakeMs(): MonotonicMillis {
    if (this.phase === 'ENDED') return NEVER;
    const leaseEndMs = this.isInTenure() ? this.lease.endMs : NEVER;
    const isHeldBack = this.phase === 'JOINING' && this.winding.size > 0;
    const requestMs = isHeldBack ? Math.max(this.dueMs, this.formerLease.endMs) : this.dueMs;
    const nextMs = this.slot.isFree ? Math.min(leaseEndMs, requestMs) : leaseEndMs;
    return Math.min(nextMs, this.book.nextDeadlineMs()) as MonotonicMillis;
  }

  tick(nowMs: MonotonicMillis): SessionCommand[] {
    if (this.isLeaseLost(nowMs)) return this.endTenure('LEASE_OVER', nowMs);
    return this.book.abortOverdue(nowMs);
  }

  /** The request to send now, null when none is due. Call `tick` first. */
  poll(nowMs: MonotonicMillis): OutgoingHeartbeat | null {
    if (this.phase === 'ENDED' || !this.slot.isFree || nowMs < this.dueMs) return null;
    if (this.phase === 'JOINING') {
      // With `previousEpoch` it says that the tenure before has stopped: so it must have, or be over by its lease.
      if (this.winding.size > 0 && !this.formerLease.isOver(nowMs)) return null;
      this.identity.joinSentAtMs = nowMs;
    }
    const kind = this.kindOfNextRequest();
    const reportedRevoked = this.book.revoked();
    const mayWait = kind === 'BEAT' && this.phase === 'MEMBER' && !this.isCorrecting;
    const isLongPoll = this.options.longPoll && mayWait && reportedRevoked.size === 0;
    const waitMs = isLongPoll ? this.pace.heartbeatIntervalMs : 0;
    const { identity, book, activity, options } = this;
    const body = heartbeatBody(
      kind,
      { memberId: options.memberId, memberName: options.memberName, identity, book, activity },
      { requestId: options.newId(), waitMs },
    );
    this.hasUnreportedRevoke = false;
    return this.slot.fill({ kind, body, sentAtMs: nowMs, waitMs, reportedRevoked });
  }

  private kindOfNextRequest(): RequestKind {
    if (this.phase === 'JOINING') return 'JOIN';
    if (this.phase === 'MEMBER') return 'BEAT';
    return this.isLeaveRecorded && this.book.hasRunning() ? 'BEAT' : 'LEAVE';
  }

  /** An answer with status 200 to the request of that sequence number. */
  answered(sequence: number, answer: HeartbeatAnswer, nowMs: MonotonicMillis): SessionCommand[] {
    const sent = this.slot.take(sequence);
    if (sent === null) return [];
    if (this.isLeaseLost(nowMs)) return this.endTenure('LEASE_OVER', nowMs);
    this.identity.observe(answer.metadataVersion);
    switch (answer.status) {
      case 'OK':
      case 'SYNC_METADATA':
      case 'REVOKE_PENDING':
        return this.follow(sent, answer, nowMs);
      case 'RETRY':
        return this.tryAgain(sent, nowMs);
      case 'FENCED_MEMBER_EPOCH':
      case 'UNKNOWN_MEMBER_ID':
        return this.endTenure(answer.status, nowMs);
      case 'UNSUPPORTED_PROTOCOL':
      case 'INVALID_REQUEST':
        return this.refused(answer.status, `it does not take protocol version ${sent.body.protocolVersion}`);
    }
  }

  /** No answer with status 200 came: it renews nothing and starts nothing. */
  failed(sequence: number, failure: CoordinatorFailure, nowMs: MonotonicMillis): SessionCommand[] {
    const sent = this.slot.take(sequence);
    if (sent === null) return [];
    if (this.isLeaseLost(nowMs)) return this.endTenure('LEASE_OVER', nowMs);
    if (failure.httpStatus === 400 && failure.errorCode === 'INVALID_REQUEST') {
      return this.refused('INVALID_REQUEST', failure.message);
    }
    const isMissing = failure.errorCode === 'GROUP_NOT_FOUND';
    if (isMissing && this.phase === 'LEAVING' && !this.book.hasRunning())
      return this.endTenure('LEFT', nowMs);
    this.tryAgain(sent, nowMs);
    return isMissing ? [{ kind: 'GROUP_MISSING' }] : [];
  }

  /** Nothing of this process runs on the shard any more, and no start of it is waiting. */
  shardStopped(shard: ShardIndex, nowMs: MonotonicMillis): SessionCommand[] {
    this.winding.delete(shard);
    if (!this.book.stopped(shard)) return [];
    this.hasUnreportedRevoke = true;
    const commands = this.slot.abandonWaiting();
    // A leave is worth more with all its drains done, and has its own grace for them.
    const mayBeLast = this.phase !== 'LEAVING' || this.isLeaveRecorded || !this.book.hasRunning();
    if (mayBeLast) this.dueMs = Math.min(this.dueMs, nowMs) as MonotonicMillis;
    return commands;
  }

  /** Begins an orderly stop. `ENDED` follows, when the lease ends at the latest. */
  stop(nowMs: MonotonicMillis): SessionCommand[] {
    const commands = this.isLeaseLost(nowMs) ? this.endTenure('LEASE_OVER', nowMs) : [];
    if (this.phase === 'JOINING') {
      const { joinSentAtMs } = this.identity;
      if (joinSentAtMs === null) return [...commands, ...this.end()];
      // The coordinator may have recorded the join: leave, for as long as a lease counted from it can last.
      this.lease = this.times.leaseFrom(joinSentAtMs);
      this.phase = 'LEAVING';
      this.dueMs = nowMs;
    } else if (this.phase === 'MEMBER') {
      this.phase = 'LEAVING';
      commands.push(
        ...this.book.drainAll(this.times.drainDeadlineFrom(nowMs)),
        ...this.slot.abandonWaiting(),
      );
      this.dueMs = (this.book.hasRunning() ? nowMs + LEAVE_GRACE_MS : nowMs) as MonotonicMillis;
    }
    return commands;
  }

  private follow(sent: OutgoingHeartbeat, answer: HeartbeatAnswer, nowMs: MonotonicMillis): SessionCommand[] {
    this.times.follow(answer);
    if (sent.kind === 'LEAVE') return this.followLeave(sent, answer, nowMs);

    const renewed = this.times.leaseFrom(sent.sentAtMs);
    if (!this.isUsable(sent, answer) || renewed.isOver(nowMs)) return this.tryAgain(sent, nowMs);
    const wasCorrecting = this.isCorrecting;
    this.isCorrecting = answer.status !== 'OK';
    const isRoundNews = this.isCorrecting !== wasCorrecting;
    const isNews = isRoundNews || answer.metadataVersion !== this.identity.viewVersion;
    const commands = sent.kind === 'JOIN' ? this.startTenure(answer) : [];
    this.lease = renewed;
    this.identity.viewVersion = answer.metadataVersion;
    commands.push({ kind: 'LEASE_RENEWED' });
    if (isRoundNews) commands.push(correctionNews(this.isCorrecting, answer.metadataVersion));
    const view = {
      assignment: answer.assignment,
      mayStart: !this.isCorrecting && this.phase === 'MEMBER',
      reportedRevoked: sent.reportedRevoked,
      drainDeadlineMs: this.times.drainDeadlineFrom(sent.sentAtMs),
    };
    commands.push(...this.book.apply(view));
    if (sent.kind === 'BEAT') this.pace.succeeded();
    this.dueMs = this.dueAfter(sent, nowMs, isNews);
    return commands;
  }

  /** Of this tenure, and not older than the view that is being followed: only a correction round goes back. */
  private isUsable(sent: OutgoingHeartbeat, answer: HeartbeatAnswer): boolean {
    if (sent.kind === 'JOIN') return answer.memberEpoch > 0;
    const isOlder = answer.status === 'OK' && answer.metadataVersion < this.identity.viewVersion;
    return answer.memberEpoch === this.identity.memberEpoch && !isOlder;
  }

  private dueAfter(sent: OutgoingHeartbeat, nowMs: MonotonicMillis, isNews: boolean): MonotonicMillis {
    if (sent.kind === 'JOIN' || this.hasUnreportedRevoke) return nowMs;
    if (this.isCorrecting) return this.pace.afterRoundAnswer(nowMs);
    if (!this.options.longPoll) return this.pace.afterPlainAnswer(sent.sentAtMs);
    return this.pace.afterLongPoll(sent.sentAtMs, nowMs, isNews);
  }

  private startTenure(answer: HeartbeatAnswer): SessionCommand[] {
    if (this.phase === 'JOINING') this.phase = 'MEMBER'; // a stop that came meanwhile goes on to leave
    this.identity.memberEpoch = answer.memberEpoch;
    this.winding.clear();
    const { assignedShards, pendingShards } = answer.assignment;
    const counts = { assigned: assignedShards.length, pending: pendingShards.length };
    return [{ kind: 'TENURE_STARTED', memberEpoch: answer.memberEpoch, ...counts }];
  }

  private followLeave(
    sent: OutgoingHeartbeat,
    answer: HeartbeatAnswer,
    nowMs: MonotonicMillis,
  ): SessionCommand[] {
    if (answer.status !== 'OK') return this.tryAgain(sent, nowMs);
    this.isLeaveRecorded = true;
    this.identity.viewVersion = Math.max(this.identity.viewVersion, answer.metadataVersion);
    if (!this.book.hasRunning() && !this.hasUnreportedRevoke) return this.endTenure('LEFT', nowMs);
    this.dueMs = this.hasUnreportedRevoke ? nowMs : this.pace.afterPlainAnswer(sent.sentAtMs);
    return [];
  }

  /** A join is repeated with the same instanceId: the coordinator may have recorded it. */
  private tryAgain(sent: OutgoingHeartbeat, nowMs: MonotonicMillis): SessionCommand[] {
    if (sent.reportedRevoked.size > 0) this.hasUnreportedRevoke = true;
    this.dueMs = this.pace.afterFailure(nowMs);
    return [];
  }

  private endTenure(reason: TenureEnd, nowMs: MonotonicMillis): SessionCommand[] {
    const commands: SessionCommand[] = [];
    const { memberEpoch } = this.identity;
    if (memberEpoch > 0) {
      commands.push({ kind: 'STOP_ALL', reason, memberEpoch });
      this.formerLease = this.lease;
    }
    commands.push(...this.slot.abandon());
    for (const shard of this.book.running()) this.winding.add(shard);
    this.book.clear();
    this.lease = Lease.none();
    this.identity.end();
    this.hasUnreportedRevoke = false;
    if (this.phase === 'LEAVING') return [...commands, ...this.end()];
    this.phase = 'JOINING';
    this.dueMs = this.pace.afterTenureEnd(nowMs);
    return commands;
  }

  private refused(status: HeartbeatStatus, message: string): SessionCommand[] {
    const { memberEpoch } = this.identity;
    this.book.clear();
    const stopAll: SessionCommand = { kind: 'STOP_ALL', reason: 'REFUSED', memberEpoch };
    return [stopAll, { kind: 'REFUSED', status, message }, ...this.end()];
  }

  private end(): SessionCommand[] {
    this.phase = 'ENDED';
    return [{ kind: 'ENDED' }];
  }

  private isInTenure(): boolean {
    return this.phase === 'MEMBER' || this.phase === 'LEAVING';
  }

  private isLeaseLost(nowMs: MonotonicMillis): boolean {
    return this.isInTenure() && this.lease.isOver(nowMs);
  }
}
