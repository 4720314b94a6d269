import { Agent, request } from 'undici';
import type { GroupKey } from '../../src/domain/ids';
import type { HeartbeatAnswer } from '../../src/protocol';
import { heartbeatOf } from '../support/coordinator-calls';
import { waitUntil } from '../support/redis-server';
import { pace } from './pace';

/** How one request ended. BROKEN: its connection was closed after it was sent, or its answer is not whole. */
export type Outcome =
  | {
      readonly kind: 'ANSWERED';
      readonly atMs: number;
      readonly status: number;
      readonly body: unknown;
      readonly retryAfterMs: number;
    }
  | { readonly kind: 'REFUSED'; readonly atMs: number }
  | { readonly kind: 'BROKEN'; readonly atMs: number; readonly reason: string };

const DEADLINE_MS = 30_000;

/**
 * Many members that heartbeat over kept connections, a fixed number of requests in flight at any time. A sender that is told
 * to come back later (Retry-After) does.
 */
export class HeartbeatLoad {
  readonly outcomes: Outcome[] = [];
  private readonly agent: Agent;
  private readonly epochs = new Map<string, number>();
  private readonly members: readonly string[];
  private isStopped = false;
  private turn = 0;

  constructor(
    private readonly baseUrl: string,
    private readonly key: GroupKey,
    memberCount: number,
    private readonly inFlight: number,
  ) {
    this.agent = new Agent({ connections: inFlight, pipelining: 1, keepAliveTimeout: 60_000 });
    this.members = Array.from({ length: memberCount }, (_, index) => `member-${index}`);
  }

  /** Runs until the listener refuses connections, or `stop`. Resolves once all senders have ended. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.inFlight }, () => this.sendOnAndOn()));
  }

  stop(): void {
    this.isStopped = true;
  }

  async untilAllJoined(): Promise<void> {
    await waitUntil('all have joined', DEADLINE_MS, () => this.epochs.size === this.members.length);
  }

  async close(): Promise<void> {
    this.stop();
    await this.agent.destroy();
  }

  private async sendOnAndOn(): Promise<void> {
    while (!this.isStopped) {
      const memberId = this.members[(this.turn += 1) % this.members.length]!;
      const outcome = await this.send(memberId);
      this.outcomes.push(outcome);
      if (outcome.kind === 'REFUSED') return;
      if (outcome.kind === 'ANSWERED' && outcome.retryAfterMs > 0) await pace(outcome.retryAfterMs);
      if (outcome.kind === 'ANSWERED' && outcome.status === 200) {
        const { status, memberEpoch } = outcome.body as HeartbeatAnswer;
        if (status === 'OK') this.epochs.set(memberId, memberEpoch);
      }
    }
  }

  private async send(memberId: string): Promise<Outcome> {
    const { streamPrefix, consumerGroup } = this.key;
    const path = `/coord/v1/streams/${streamPrefix}/groups/${consumerGroup}/members/${memberId}/heartbeat`;
    try {
      const answer = await request(`${this.baseUrl}${path}`, {
        method: 'POST',
        dispatcher: this.agent,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(
          heartbeatOf(memberId, { memberEpoch: this.epochs.get(memberId) ?? 0, instanceId: memberId }),
        ),
      });
      const body: unknown = JSON.parse(await answer.body.text());
      const retryAfterMs = Number(answer.headers['retry-after'] ?? 0) * 1_000;
      return { kind: 'ANSWERED', atMs: performance.now(), status: answer.statusCode, body, retryAfterMs };
    } catch (error) {
      const atMs = performance.now();
      const code = (error as { code?: unknown }).code;
      return code === 'ECONNREFUSED'
        ? { kind: 'REFUSED', atMs }
        : { kind: 'BROKEN', atMs, reason: `${String(code)} ${String(error)}` };
    }
  }
}
