import type { CoordinatorCallOptions, CoordinatorPort } from '../../src/client/consumer/coordinator-port';
import type { HeartbeatAnswer, HeartbeatBody, HeartbeatStatus } from '../../src/protocol';

export interface ScriptedTiming {
  readonly heartbeatIntervalMs: number;
  readonly leaseTtlMs: number;
  readonly rebalanceTimeoutMs: number;
}

interface ScriptedMember {
  epoch: number;
  readonly assigned: Map<number, number>;
  readonly revoking: Set<number>;
  hasLeft: boolean;
}

export interface SeenHeartbeat {
  readonly body: HeartbeatBody;
  readonly atMs: number;
}

/** An answer that is not 200. */
export class ScriptedFailure extends Error {
  readonly retryable = true;
  constructor(
    readonly httpStatus: number | null,
    readonly errorCode: string | null,
  ) {
    super(`scripted failure ${String(httpStatus)} ${String(errorCode)}`);
  }
}

type Script = (body: HeartbeatBody) => HeartbeatStatus | Error | null;

/**
 * Stands in for a coordinator where the test decides who owns what: a shard that is taken away is "revoking" until its member
 * reports it REVOKED. Waits on long polls as the real one does. Everything that was asked is kept.
 */
export class ScriptedCoordinator implements CoordinatorPort {
  readonly seen: SeenHeartbeat[] = [];
  shardCount = 8;
  private readonly members = new Map<string, ScriptedMember>();
  private version = 1_000;
  private lastNumber = 5_000;
  private script: Script = () => null;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly timing: ScriptedTiming = {
      heartbeatIntervalMs: 1_000,
      leaseTtlMs: 10_000,
      rebalanceTimeoutMs: 20_000,
    },
  ) {}

  /** What this member is to own from now on; also before it joined. */
  assign(memberId: string, shards: readonly number[]): void {
    const member = this.member(memberId);
    for (const shard of member.assigned.keys()) {
      if (shards.includes(shard)) continue;
      member.assigned.delete(shard);
      member.revoking.add(shard);
    }
    for (const shard of shards) {
      member.revoking.delete(shard);
      if (!member.assigned.has(shard)) member.assigned.set(shard, this.draw());
    }
    this.changed();
  }

  /** Decides instead of the usual course: a status, an error to throw, or null for the usual. */
  answerWith(script: Script): void {
    this.script = script;
    this.wakeAll();
  }

  asUsual(): void {
    this.answerWith(() => null);
  }

  bodiesOf(memberId: string): HeartbeatBody[] {
    return this.seen.filter(({ body }) => body.memberId === memberId).map(({ body }) => body);
  }

  hasLeft(memberId: string): boolean {
    return this.member(memberId).hasLeft;
  }

  isReleased(memberId: string, shard: number): boolean {
    const member = this.member(memberId);
    return !member.revoking.has(shard) && !member.assigned.has(shard);
  }

  async heartbeat(
    _streamPrefix: string,
    _consumerGroup: string,
    memberId: string,
    body: HeartbeatBody,
    options: CoordinatorCallOptions = {},
  ): Promise<HeartbeatAnswer> {
    this.seen.push({ body, atMs: performance.now() });
    const scripted = this.script(body);
    if (scripted instanceof Error) throw scripted;
    const member = this.member(memberId);
    if (scripted !== null) return this.answer(body, member, scripted);
    if (body.memberEpoch === 0) member.epoch = this.draw();
    else if (body.memberEpoch > 0 && body.memberEpoch !== member.epoch) {
      return this.answer(body, member, 'FENCED_MEMBER_EPOCH');
    }
    this.release(member, body);
    if (body.memberEpoch === -1) this.leave(member, body);
    const { version } = this;
    if ((body.waitMs ?? 0) > 0 && body.metadataVersion === version) {
      await this.wait(body.waitMs ?? 0, options.signal);
      const late = this.script(body);
      if (late instanceof Error) throw late;
      if (late !== null) return this.answer(body, member, late);
    }
    return this.answer(body, member, 'OK');
  }

  async producerRouting(): Promise<{ readonly shardCount: number }> {
    return { shardCount: this.shardCount };
  }

  private leave(member: ScriptedMember, body: HeartbeatBody): void {
    member.hasLeft = true;
    for (const shard of member.assigned.keys()) member.revoking.add(shard);
    member.assigned.clear();
    this.release(member, body);
    this.changed();
  }

  private release(member: ScriptedMember, body: HeartbeatBody): void {
    const owned = new Set((body.ownedShards ?? []).map(({ shardIndex }) => shardIndex));
    const reports = new Map((body.revokingShards ?? []).map((report) => [report.shard.shardIndex, report]));
    for (const shard of member.revoking) {
      const report = reports.get(shard);
      const isGone = report === undefined ? !owned.has(shard) : report.state === 'REVOKED';
      if (!isGone || body.memberEpoch === 0) continue;
      member.revoking.delete(shard);
      this.version += 1;
    }
  }

  private answer(body: HeartbeatBody, member: ScriptedMember, status: HeartbeatStatus): HeartbeatAnswer {
    const ids = (shards: Iterable<number>): { shardIndex: number }[] =>
      [...shards].map((shardIndex) => ({ shardIndex }));
    return {
      responseTo: body.requestId,
      status,
      memberId: body.memberId,
      memberEpoch: body.memberEpoch === -1 ? -1 : member.epoch,
      ...this.timing,
      groupEpoch: 1,
      assignmentEpoch: 1,
      metadataVersion: this.version,
      assignment: {
        assignedShards: ids(member.assigned.keys()),
        pendingShards: [],
        revokingShards: ids(member.revoking),
        fencingTokens: [...member.assigned].map(([shardIndex, token]) => ({ shardIndex, token })),
        metadataVersion: this.version,
      },
    };
  }

  private member(memberId: string): ScriptedMember {
    let member = this.members.get(memberId);
    if (member === undefined) {
      member = { epoch: 0, assigned: new Map(), revoking: new Set(), hasLeft: false };
      this.members.set(memberId, member);
    }
    return member;
  }

  private draw(): number {
    this.lastNumber += 1;
    return this.lastNumber;
  }

  private changed(): void {
    this.version += 1;
    this.wakeAll();
  }

  private wakeAll(): void {
    for (const wake of [...this.waiting]) wake();
  }

  private async wait(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      const wake = (): void => finish(resolve);
      const abort = (): void => finish(() => reject(new Error('aborted')));
      const timer = setTimeout(wake, waitMs);
      this.waiting.add(wake);
      signal?.addEventListener('abort', abort);
    });
  }
}
