import { CoordinatorClient, CoordinatorRequestError, CoordinatorUnreachableError } from '../../src/client';
import { HeartbeatPace } from '../../src/client/consumer/heartbeat-pace';
import type { GroupKey } from '../../src/domain/ids';
import type { MonotonicMillis } from '../../src/domain/time';
import { JOIN_EPOCH, LEAVE_EPOCH, type HeartbeatAnswer, type HeartbeatStatus } from '../../src/protocol';
import { waitUntil } from '../support/redis-server';
import { BaseMember } from './base-member';
import { pace } from './pace';

/**
 * How one request ended.
 * ANSWERED  with 200 and a status of the protocol
 * REFUSED   with a typed error that says that a retry helps
 * NO_WAY    its connection was refused or lost
 * LATE      nobody answered within the time a request has
 * WRONG     with anything else: half an answer, an error that is none of the contract, one that is final
 */
export type AttemptOutcome = 'ANSWERED' | 'REFUSED' | 'NO_WAY' | 'LATE' | 'WRONG';

/** One request; times on the clock of `performance.now()`. */
export interface Attempt {
  readonly memberId: string;
  readonly outcome: AttemptOutcome;
  /** A status, an error code, or what the connection said. */
  readonly detail: string;
  readonly sentMs: number;
  readonly endedMs: number;
}

/** One heartbeat, with all the requests that it took to get it answered. */
export interface Beat {
  readonly memberId: string;
  readonly sentMs: number;
  readonly answeredMs: number;
}

export interface FleetOptions {
  readonly coordinatorUrls: readonly string[];
  readonly groups: readonly GroupKey[];
  readonly membersPerGroup: number;
  readonly requestTimeoutMs: number;
}

const AT_ONCE = 32;
/** Bounds the waits of a member that joins. */
const JOINING_INTERVAL_MS = 1_000;
/** Of the members that join and leave without end, so that sections run all the time. */
const RESTLESS_PACE_MS = 1_000;
const PATIENCE_MS = 60_000;
const LOST_TENURE: readonly HeartbeatStatus[] = ['UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH'];

/**
 * A great many members that heartbeat through one client, which knows several coordinators. Each begins its heartbeats at its
 * own time within the interval, and repeats one until it is answered, with the waits of the SDK. In each group one more joins
 * and leaves in turn.
 */
export class MemberFleet {
  readonly attempts: Attempt[] = [];
  readonly beats: Beat[] = [];
  private readonly members = new Map<string, { readonly key: GroupKey; readonly member: BaseMember }>();
  private readonly client: CoordinatorClient;
  private readonly lives: Promise<void>[] = [];
  /** When the last heartbeat of each member was sent that was answered. */
  private readonly lastServedMs = new Map<string, number>();
  private isStopped = false;
  private intervalMs = JOINING_INTERVAL_MS;

  constructor(private readonly options: FleetOptions) {
    this.client = new CoordinatorClient({
      coordinatorUrl: options.coordinatorUrls,
      timeoutMs: options.requestTimeoutMs,
    });
    for (let index = 0; index < options.membersPerGroup; index += 1) {
      for (const key of options.groups) {
        const member = new BaseMember(`${key.consumerGroup}-member-${index}`);
        this.members.set(member.memberId, { key, member });
      }
    }
  }

  /**
   * All members send a heartbeat, so many at once that it takes as long as it takes. Until they have joined and hold what they
   * should, this is called again and again. Milliseconds that it took.
   */
  async beatAll(): Promise<number> {
    const fromMs = performance.now();
    const rest = [...this.members.values()].values();
    const sender = async (): Promise<void> => {
      for (const { key, member } of rest) await this.repeat(() => this.beat(key, member));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    return performance.now() - fromMs;
  }

  /** Every member lives on its own from here on. */
  start(intervalMs: number): void {
    this.intervalMs = intervalMs;
    [...this.members.values()].forEach(({ key, member }, index) => {
      this.lives.push(this.live(key, member, (index / this.members.size) * intervalMs));
    });
    this.options.groups.forEach((key, index, { length }) => {
      const restless = new BaseMember(`${key.consumerGroup}-restless`);
      this.lives.push(this.joinAndLeave(key, restless, (index / length) * RESTLESS_PACE_MS));
    });
  }

  /** By id. */
  get epochs(): ReadonlyMap<string, number> {
    return new Map([...this.members].map(([memberId, { member }]) => [memberId, member.memberEpoch]));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.lives);
    await this.client.close();
  }

  /** Waits until each member has sent a heartbeat after this moment that was answered. */
  async untilAllServedSince(ms: number): Promise<void> {
    const missing = (): readonly string[] =>
      [...this.members.keys()].filter((memberId) => !((this.lastServedMs.get(memberId) ?? 0) >= ms));
    await waitUntil('all are served', PATIENCE_MS, () => missing().length === 0).catch((late: unknown) => {
      const last = JSON.stringify(this.attempts.slice(-3));
      throw new Error(`${String(late)}; not served: ${missing().length}; last: ${last}`);
    });
  }

  private async live(key: GroupKey, member: BaseMember, delayMs: number): Promise<void> {
    await pace(delayMs);
    while (!this.isStopped) {
      const sentMs = performance.now();
      if (!(await this.repeat(() => this.beat(key, member)))) return;
      const answeredMs = performance.now();
      this.beats.push({ memberId: member.memberId, sentMs, answeredMs });
      await pace(Math.max(0, sentMs + this.intervalMs - answeredMs));
    }
  }

  private async joinAndLeave(key: GroupKey, member: BaseMember, delayMs: number): Promise<void> {
    await pace(delayMs);
    const idle = { runtimeConsumerCapacity: { runtimeMaxConcurrency: 0, availableConcurrency: 0 } };
    for (let isJoining = true; !this.isStopped; isJoining = !isJoining) {
      const report = member.report({ ...idle, memberEpoch: isJoining ? JOIN_EPOCH : LEAVE_EPOCH });
      await this.repeat(async () => (await this.send(key, member, report.body)) !== null);
      await pace(RESTLESS_PACE_MS);
    }
  }

  /** False: it was stopped before it succeeded. */
  private async repeat(once: () => Promise<boolean>): Promise<boolean> {
    const backoff = new HeartbeatPace(this.intervalMs, Math.random);
    while (!(await once())) {
      if (this.isStopped) return false;
      const nowMs = performance.now() as MonotonicMillis;
      await pace(backoff.afterFailure(nowMs) - nowMs);
    }
    return true;
  }

  /** Whether it was answered as a heartbeat should be. */
  private async beat(key: GroupKey, member: BaseMember): Promise<boolean> {
    const report = member.report({ instanceId: member.memberId });
    const sentMs = performance.now();
    const answer = await this.send(key, member, report.body);
    if (answer === null || answer.status === 'RETRY') return false;
    member.follow(answer, report);
    this.lastServedMs.set(member.memberId, sentMs);
    return true;
  }

  private async send(
    { streamPrefix, consumerGroup }: GroupKey,
    { memberId }: BaseMember,
    body: Parameters<CoordinatorClient['heartbeat']>[3],
  ): Promise<HeartbeatAnswer | null> {
    const sentMs = performance.now();
    const note = (outcome: AttemptOutcome, detail: string): void => {
      this.attempts.push({ memberId, outcome, detail, sentMs, endedMs: performance.now() });
    };
    try {
      const answer = await this.client.heartbeat(streamPrefix, consumerGroup, memberId, body);
      note('ANSWERED', answer.status);
      return answer;
    } catch (error) {
      note(...outcomeOf(error));
      return null;
    }
  }
}

function outcomeOf(error: unknown): [AttemptOutcome, string] {
  if (error instanceof CoordinatorRequestError) {
    const isRefused = error.httpStatus === 503 && error.retryable && error.errorCode !== 'MALFORMED_ANSWER';
    return [isRefused ? 'REFUSED' : 'WRONG', isRefused ? error.errorCode : String(error)];
  }
  if (!(error instanceof CoordinatorUnreachableError)) return ['WRONG', String(error)];
  const reason = String(error.cause);
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return [/no answer within/.test(reason) ? 'LATE' : 'NO_WAY', typeof code === 'string' ? code : reason];
}

/** Requests whose answer says that a tenure was lost. */
export function tenuresLostIn(attempts: readonly Attempt[]): readonly Attempt[] {
  return attempts.filter(
    ({ outcome, detail }) => outcome === 'ANSWERED' && LOST_TENURE.includes(detail as HeartbeatStatus),
  );
}

/** The longest time between the sending of two heartbeats in a row that were answered: what a lease has to outlast. */
export function longestGapMs(beats: readonly Beat[]): number {
  const last = new Map<string, number>();
  let longestMs = 0;
  for (const { memberId, sentMs, answeredMs } of beats) {
    longestMs = Math.max(longestMs, answeredMs - (last.get(memberId) ?? sentMs));
    last.set(memberId, sentMs);
  }
  return longestMs;
}
