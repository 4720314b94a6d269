import type { HeartbeatAnswer, HeartbeatBody } from '../../src/protocol';
import { SimulatedMember } from './member';
import { KEY, REQUEST_TIMEOUT_MS, TIMING } from './timing';

const BACKOFF_MS = 150;
/** How often such a client says nothing about its shards in a plain heartbeat ("no news"). */
const NO_NEWS_CHANCE = 0.25;

interface Hold {
  state: 'READING' | 'DRAINING' | 'REVOKED';
  readonly token: number;
}

/**
 * A client as one would write it in another language from docs/protocol.md alone: base fields only, so no instanceId, no
 * previousEpoch, no maxObservedVersion, no long poll; a heartbeat per interval, one request at a time, the lease counted from
 * its sending. Rejoins after whatever ends its tenure.
 */
export class BaseMember extends SimulatedMember {
  memberEpoch = 0;
  maxConcurrency = 1;
  private version = 0;
  private readonly holds = new Map<number, Hold>();
  private isStopping = false;
  private isCorrecting = false;
  private isLeaveRecorded = false;
  private isSending = false;
  private requests = 0;
  private cancelTimer: () => void = () => undefined;

  get isEligible(): boolean {
    return this.maxConcurrency > 0;
  }

  start(): void {
    this.beat();
  }

  stop(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    for (const shard of this.holds.keys()) this.drain(shard);
    this.beatIn(0);
  }

  protected mayWork(): boolean {
    return this.isInLease();
  }

  protected checkLease(): void {
    if (this.memberEpoch > 0 && !this.isInLease()) this.endTenure('LEASE_OVER');
  }

  protected shardStopped(shard: number): void {
    const hold = this.holds.get(shard);
    if (hold?.state !== 'DRAINING') return;
    hold.state = 'REVOKED';
    this.beatIn(0);
  }

  private beatIn(delayMs: number): void {
    this.cancelTimer();
    this.cancelTimer = this.parts.world.scheduler.after(delayMs, this.process, () => this.beat());
  }

  private beat(): void {
    this.checkLease();
    if (this.hasEnded || this.isSending) return;
    if (this.isStopping && this.memberEpoch === 0) {
      this.hasEnded = true; // nothing is held: what the coordinator still has of it ends with its lease
      return;
    }
    this.isSending = true;
    const { scheduler } = this.parts.world;
    const body = this.body();
    const sentAtMs = this.nowMs();
    const epoch = this.memberEpoch;
    // The lease ends while a request hangs: whoever looks at it notices.
    const cancelCheck = scheduler.after(Math.max(0, this.lease.endMs - sentAtMs), this.process, () =>
      this.checkLease(),
    );
    const { streamPrefix, consumerGroup } = KEY;
    const options = { timeoutMs: REQUEST_TIMEOUT_MS };
    this.parts.coordinator.heartbeat(streamPrefix, consumerGroup, this.memberId, body, options).then(
      (answer) => {
        cancelCheck();
        this.isSending = false;
        this.checkLease();
        const isOfThisTenure = epoch === this.memberEpoch;
        this.beatIn(isOfThisTenure ? this.answered(body, answer, sentAtMs) : BACKOFF_MS);
      },
      () => {
        cancelCheck();
        this.isSending = false;
        this.beatIn(BACKOFF_MS * (1 + this.parts.world.random.next()));
      },
    );
  }

  private body(): HeartbeatBody {
    const { random } = this.parts.world;
    this.requests += 1;
    const isLeave = this.isStopping && !(this.isLeaveRecorded && this.isRunning());
    const isJoin = this.memberEpoch === 0;
    const isNews = this.isCorrecting || this.isStopping || [...this.holds.values()].some(isLetGo);
    const saysNothing = !isNews && random.chance(NO_NEWS_CHANCE);
    const shardsIn = (state: Hold['state']): number[] =>
      [...this.holds].filter(([, hold]) => hold.state === state).map(([shard]) => shard);
    const revoking = [
      ...shardsIn('DRAINING').map((shardIndex) => ({
        ...{ shard: { shardIndex }, state: 'DRAINING' as const, inFlight: this.work.inFlight(shardIndex) },
      })),
      ...shardsIn('REVOKED').map((shardIndex) => ({
        ...{ shard: { shardIndex }, state: 'REVOKED' as const, inFlight: 0 },
      })),
    ];
    return {
      protocolVersion: 1,
      requestId: `${this.name}-r${this.requests}`,
      memberId: this.memberId,
      memberEpoch: isJoin ? 0 : isLeave ? -1 : this.memberEpoch,
      metadataVersion: this.version,
      runtimeConsumerCapacity: { runtimeMaxConcurrency: this.maxConcurrency, availableConcurrency: 1 },
      ownedShards: saysNothing ? null : shardsIn('READING').map((shardIndex) => ({ shardIndex })),
      ...(saysNothing ? {} : { revokingShards: revoking }),
    };
  }

  /** @returns when to send the next heartbeat. */
  private answered(body: HeartbeatBody, answer: HeartbeatAnswer, sentAtMs: number): number {
    const { status } = answer;
    switch (status) {
      case 'OK':
      case 'SYNC_METADATA':
      case 'REVOKE_PENDING':
        return body.memberEpoch === -1 ? this.left(answer) : this.follow(body, answer, sentAtMs);
      case 'RETRY':
        return BACKOFF_MS;
      case 'FENCED_MEMBER_EPOCH':
      case 'UNKNOWN_MEMBER_ID':
        this.endTenure(status);
        return BACKOFF_MS;
      case 'UNSUPPORTED_PROTOCOL':
      case 'INVALID_REQUEST':
        this.parts.judge.violated('NO_DEFECT', `${this.name} was refused: ${status}`);
        return TIMING.heartbeatIntervalMs;
    }
  }

  private follow(body: HeartbeatBody, answer: HeartbeatAnswer, sentAtMs: number): number {
    const { planted } = this.parts.world;
    const endMs = sentAtMs + TIMING.memberLeaseTtlMs * (planted === 'LONG_LEASE' ? 2 : 1);
    if (answer.memberEpoch <= 0 || endMs <= this.nowMs()) return BACKOFF_MS;
    if (body.memberEpoch === 0) {
      this.memberEpoch = answer.memberEpoch;
      this.lease = { endMs };
    } else {
      this.lease.endMs = endMs;
    }
    this.version = answer.metadataVersion;
    this.isCorrecting = answer.status !== 'OK';
    if (!this.isCorrecting) this.lastOkAtMs = this.parts.world.scheduler.nowMs;
    this.apply(
      answer,
      new Set(body.revokingShards?.filter(isReportedGone).map(({ shard }) => shard.shardIndex)),
    );
    const isUrgent = [...this.holds.values()].some(isLetGo);
    return isUrgent ? 20 : TIMING.heartbeatIntervalMs * (1 - 0.1 * this.parts.world.random.next());
  }

  private apply({ assignment }: HeartbeatAnswer, reportedGone: ReadonlySet<number>): void {
    const tokens = new Map(assignment.fencingTokens?.map(({ shardIndex, token }) => [shardIndex, token]));
    const assigned = new Set(assignment.assignedShards.map(({ shardIndex }) => shardIndex));
    for (const [shard, hold] of this.holds) {
      if (assigned.has(shard)) continue;
      if (hold.state === 'READING') this.drain(shard);
      else if (hold.state === 'REVOKED' && reportedGone.has(shard)) this.holds.delete(shard);
    }
    for (const shard of assigned) {
      const token = tokens.get(shard) ?? 0;
      const hold = this.holds.get(shard);
      const isReading = hold?.state === 'READING';
      if (isReading && hold.token === token) continue;
      if (!isReading && (this.isCorrecting || this.isStopping)) continue;
      this.holds.set(shard, { state: 'READING', token });
      this.work.start(shard, token, this.lease);
    }
  }

  private drain(shard: number): void {
    const hold = this.holds.get(shard);
    if (hold?.state !== 'READING') return;
    hold.state = 'DRAINING';
    this.work.drain(shard);
  }

  private left(answer: HeartbeatAnswer): number {
    if (answer.status !== 'OK') return BACKOFF_MS;
    this.isLeaveRecorded = true;
    if (this.isRunning() || [...this.holds.values()].some(isLetGo)) {
      for (const [shard, hold] of this.holds) if (hold.state === 'REVOKED') this.holds.delete(shard);
      return BACKOFF_MS;
    }
    this.endTenure('LEFT');
    return 0;
  }

  private isRunning(): boolean {
    return [...this.holds.values()].some(({ state }) => state !== 'REVOKED');
  }

  private endTenure(reason: string): void {
    const { world, judge } = this.parts;
    if (world.trace.isOn) world.trace.add(this.name, `tenure over: ${reason}`);
    judge.coverage.count(`base tenure over: ${reason}`);
    this.memberEpoch = 0;
    this.holds.clear();
    this.isCorrecting = false;
    this.isLeaveRecorded = false;
    this.work.stopAll();
  }
}

function isLetGo({ state }: Hold): boolean {
  return state === 'REVOKED';
}

function isReportedGone({ state }: { readonly state: string }): boolean {
  return state === 'REVOKED';
}
