import type { OutgoingHeartbeat } from '../../../src/client/consumer/heartbeat-request';
import { MemberSession } from '../../../src/client/consumer/member-session';
import type { SessionCommand } from '../../../src/client/consumer/session-commands';
import type { CoordinatorOptions } from '../../../src/config/coordinator-options';
import { onHeartbeat } from '../../../src/domain/coordinator/on-heartbeat';
import { onTick } from '../../../src/domain/coordinator/on-tick';
import type { GroupMetadata } from '../../../src/domain/group/group-metadata';
import type { MemberId, ShardIndex } from '../../../src/domain/ids';
import { ApiError } from '../../../src/http/api-error';
import { HeartbeatAnswers } from '../../../src/membership/heartbeat-answers';
import { heartbeatRequestOf } from '../../../src/membership/heartbeat-request';
import { CoordinatorMetrics } from '../../../src/metrics/coordinator-metrics';
import type { HeartbeatAnswer } from '../../../src/protocol';
import { ERROR_CODES } from '../../../src/protocol/errors';
import { DEFAULT_TIMING } from '../../../src/protocol/timing';
import { MemoryMetadataStore } from '../../../src/store/memory/memory-metadata-store';
import { KEY, SectionWorld, type Coordinator } from '../critical-section/section-world';

export const LEASE_MS = DEFAULT_TIMING.memberLeaseTtlMs;
const METRICS = new CoordinatorMetrics();
const MAX_BEATS = 1_000;

/** Where a heartbeat goes, and what becomes of it. */
export type Path = 'ARRIVES' | 'ANSWER_LOST' | 'UNREACHABLE';

/** One Redis, any number of coordinators, and members that run the SDK's session. Time passes only in the fake clock. */
export class ScenarioWorld extends SectionWorld {
  private names = 0;

  member(memberId: string): ScenarioMember {
    return new ScenarioMember(this, memberId, () => `id-${(this.names += 1)}`);
  }

  /** The event loop of this coordinator looks at the group. */
  async tick(coordinator: Coordinator): Promise<void> {
    coordinator.pass();
    await coordinator.run(onTick());
  }

  /** Heartbeats of all until the condition holds; fails when it does not for long. */
  async beatUntil(
    isReached: () => boolean,
    coordinator: Coordinator,
    members: readonly ScenarioMember[],
  ): Promise<void> {
    for (let beats = 0; beats < MAX_BEATS; beats += 1) {
      if (isReached()) return;
      for (const member of members) await member.beat(coordinator);
      await this.tick(coordinator);
    }
    throw new Error('the condition was never reached');
  }
}

/** What is recorded, as somebody sees it who knows nothing but Redis. */
export async function recorded(world: SectionWorld): Promise<GroupMetadata> {
  const outcome = await new MemoryMetadataStore(world.node).load(KEY);
  if (outcome.kind !== 'LOADED') throw new Error(`the group is ${outcome.kind}`);
  return outcome.metadata;
}

/** The SDK's session of one member with a data plane that only notes what it is told to read and to drain. */
export class ScenarioMember {
  readonly session: MemberSession;
  readonly reading = new Set<number>();
  readonly draining = new Set<number>();
  /** Commands of the last step, by kind. */
  lastCommands: readonly string[] = [];
  lastAnswer: HeartbeatAnswer | null = null;
  lastSent: OutgoingHeartbeat | null = null;

  constructor(
    private readonly world: ScenarioWorld,
    readonly memberId: string,
    newId: () => string,
  ) {
    const { heartbeatIntervalMs, memberLeaseTtlMs, rebalanceTimeoutMs } = DEFAULT_TIMING;
    const timing = { heartbeatIntervalMs, memberLeaseTtlMs, rebalanceTimeoutMs };
    const options = { memberId, memberName: null, timing, longPoll: false, newId, random: () => 0 };
    this.session = new MemberSession(options, {
      inFlight: (shard) => (this.draining.has(shard) ? 1 : 0),
      availableConcurrency: () => 4,
      progress: () => [],
    });
  }

  /** Passes the time until the next heartbeat, and sends it. Null: the answer did not arrive, or was an error. */
  async beat(at: Coordinator, path: Path = 'ARRIVES'): Promise<HeartbeatAnswer | null> {
    const sent = await this.send();
    if (path === 'UNREACHABLE') return this.failed(sent, null);
    const answer = await this.exchange(at, sent);
    if (path === 'ANSWER_LOST' || answer instanceof ApiError)
      return this.failed(sent, answer instanceof ApiError ? answer : null);
    this.lastAnswer = answer;
    this.apply(this.session.answered(sent.sequence, answer, this.nowMs));
    return answer;
  }

  async send(): Promise<OutgoingHeartbeat> {
    for (let waits = 0; waits < MAX_BEATS; waits += 1) {
      const sent = this.session.poll(this.nowMs);
      if (sent !== null) {
        this.lastSent = sent;
        return sent;
      }
      await this.world.clock.advance(Math.max(1, this.session.nextWakeMs() - this.nowMs));
      this.apply(this.session.tick(this.nowMs));
    }
    throw new Error(`${this.memberId} sends nothing`);
  }

  /** What the coordinator makes of the request; the member does not see it. */
  async exchange(at: Coordinator, sent: OutgoingHeartbeat): Promise<HeartbeatAnswer | ApiError> {
    const request = heartbeatRequestOf(sent.body, this.memberId as MemberId);
    const options = { timing: DEFAULT_TIMING } as CoordinatorOptions;
    const answers = new HeartbeatAnswers(options, at.assembly.watch, METRICS);
    at.pass(); // its event loop goes on
    const reply = await at.run(onHeartbeat(request, { min: 1, max: 1 }));
    const longPoll = { waitMs: 0, signal: () => new AbortController().signal };
    return answers.answer(KEY, request, reply, longPoll).catch((error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    });
  }

  /** The answer to what was sent last does not arrive. */
  lose(): void {
    if (this.lastSent !== null) this.failed(this.lastSent, null);
  }

  /** The drain of the shard is done: nothing of it runs any more. */
  drained(shard: number): void {
    this.draining.delete(shard);
    this.apply(this.session.shardStopped(shard as ShardIndex, this.nowMs));
  }

  /** Looks at its clock. */
  tick(): void {
    this.apply(this.session.tick(this.nowMs));
  }

  get mayWork(): boolean {
    return this.session.mayWork(this.nowMs);
  }

  private get nowMs() {
    return this.world.clock.monotonicMs();
  }

  private failed(sent: OutgoingHeartbeat, error: ApiError | null): null {
    const [httpStatus, errorCode] =
      error === null ? [null, null] : [ERROR_CODES[error.code].httpStatus, error.code];
    const failure = { httpStatus, errorCode, message: 'scenario', cause: error };
    this.apply(this.session.failed(sent.sequence, failure, this.nowMs));
    return null;
  }

  private apply(commands: readonly SessionCommand[]): void {
    this.lastCommands = commands.map(({ kind }) => kind);
    for (const command of commands) {
      if (command.kind === 'START') this.reading.add(command.shard);
      if (command.kind === 'DRAIN') {
        this.reading.delete(command.shard);
        this.draining.add(command.shard);
      }
      if (command.kind === 'STOP_ALL') this.stopAll();
    }
  }

  private stopAll(): void {
    const stopped = [...this.reading, ...this.draining];
    this.reading.clear();
    this.draining.clear();
    for (const shard of stopped) this.apply(this.session.shardStopped(shard as ShardIndex, this.nowMs));
  }
}
