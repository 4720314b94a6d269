import type { ErrorBody, HeartbeatAnswer } from '../../src/protocol';
import type { GroupKey } from '../../src/domain/ids';
import type { Answer } from '../support/coordinator-calls';
import type { CoordinatorProcess } from '../support/coordinator-process';
import { waitUntil } from '../support/redis-server';
import { pace } from './pace';

/** One request as its sender saw it; times on the clock of `performance.now()`. */
export interface Exchange {
  readonly kind: 'HEARTBEAT' | 'JOIN_OR_LEAVE' | 'LIVENESS';
  readonly sentMs: number;
  readonly tookMs: number;
  readonly status: number;
  readonly body: unknown;
}

interface Tenure {
  memberEpoch: number;
  metadataVersion: number;
  ownedShards: HeartbeatAnswer['assignment']['assignedShards'];
}

/** Between two requests of one sender. */
const PACE_MS = 25;
const ANSWER_DEADLINE_MS = 30_000;

/**
 * Members that heartbeat without end, one that joins and leaves in turn (so that sections run all the time), and somebody
 * who asks for liveness. What they are answered is kept, in order.
 */
export class MemberTraffic {
  readonly exchanges: Exchange[] = [];
  private readonly tenures = new Map<string, Tenure>();
  private readonly senders: Promise<void>[] = [];
  private isStopped = false;

  constructor(
    private readonly coordinator: CoordinatorProcess,
    private readonly key: GroupKey,
  ) {}

  /** Resolves once all members have joined. */
  async start(members: readonly string[]): Promise<void> {
    for (const memberId of members) {
      await waitUntil(`${memberId} has joined`, ANSWER_DEADLINE_MS, async () => {
        const joined = await this.coordinator.heartbeat(this.key, memberId);
        if (joined.status === 200) this.learn(memberId, joined.body as HeartbeatAnswer);
        return joined.status === 200;
      });
    }
    for (const memberId of members) this.senders.push(this.repeat(() => this.beat(memberId)));
    let isJoining = true;
    this.senders.push(
      this.repeat(async () => {
        await this.record('JOIN_OR_LEAVE', () => this.joinOrLeave('restless', isJoining));
        isJoining = !isJoining;
      }),
      this.repeat(() => this.record('LIVENESS', () => this.coordinator.call('GET', '/health/live'))),
    );
  }

  tenureOf(memberId: string): Readonly<Tenure> {
    const tenure = this.tenures.get(memberId);
    if (tenure === undefined) throw new Error(`${memberId} has never joined`);
    return tenure;
  }

  /** Waits until each kind of request was answered so that `isSuch` holds, asked from now on. */
  async untilAll(what: string, isSuch: (exchange: Exchange) => boolean): Promise<void> {
    const from = performance.now();
    const kinds = ['HEARTBEAT', 'JOIN_OR_LEAVE'] as const;
    const since = (kind: Exchange['kind']): Exchange[] =>
      this.exchanges.filter((exchange) => exchange.kind === kind && exchange.sentMs >= from);
    try {
      await waitUntil(what, ANSWER_DEADLINE_MS, () => kinds.every((kind) => since(kind).some(isSuch)));
    } catch (cause) {
      const last = kinds.map((kind) => since(kind).at(-1));
      throw new Error(`${String(cause)}; last: ${JSON.stringify(last)}`, { cause });
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.senders);
  }

  private async beat(memberId: string): Promise<void> {
    const tenure = { ...this.tenureOf(memberId), revokingShards: [] };
    const { status, body } = await this.record('HEARTBEAT', () =>
      this.coordinator.heartbeat(this.key, memberId, tenure),
    );
    if (status === 200) this.learn(memberId, body as HeartbeatAnswer);
  }

  private joinOrLeave(memberId: string, isJoining: boolean): Promise<Answer> {
    return this.coordinator.heartbeat(this.key, memberId, { memberEpoch: isJoining ? 0 : -1 });
  }

  private learn(
    memberId: string,
    { status, memberEpoch, metadataVersion, assignment }: HeartbeatAnswer,
  ): void {
    const { assignedShards } = assignment;
    if (status === 'OK')
      this.tenures.set(memberId, { memberEpoch, metadataVersion, ownedShards: assignedShards });
    if (status !== 'SYNC_METADATA' && status !== 'REVOKE_PENDING') return;
    // Keeps what it has and may keep, starts nothing; what it has to give up it gives up at once.
    const kept = new Set(assignedShards.map(({ shardIndex }) => shardIndex));
    const ownedShards = this.tenureOf(memberId).ownedShards.filter(({ shardIndex }) => kept.has(shardIndex));
    this.tenures.set(memberId, { memberEpoch, metadataVersion, ownedShards });
  }

  private async record(kind: Exchange['kind'], send: () => Promise<Answer>): Promise<Exchange> {
    const sentMs = performance.now();
    const { status, body } = await send().catch((error: unknown) => ({ status: 0, body: String(error) }));
    const exchange = { kind, sentMs, tookMs: performance.now() - sentMs, status, body };
    this.exchanges.push(exchange);
    return exchange;
  }

  private async repeat(once: () => Promise<unknown>): Promise<void> {
    while (!this.isStopped) {
      await once();
      await pace(PACE_MS);
    }
  }
}

/** Whether it was refused in the contract's shape: a code, and whether a retry helps. */
export function isTypedError({ status, body }: Pick<Exchange, 'status' | 'body'>): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const { errorCode, retryable, message } = body as Partial<ErrorBody>;
  return (
    status === 503 &&
    typeof errorCode === 'string' &&
    errorCode !== ('INTERNAL_ERROR' as string) &&
    typeof retryable === 'boolean' &&
    typeof message === 'string'
  );
}
