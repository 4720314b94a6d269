import { groupKeyText } from '../../src/domain/ids';
import type { GroupKey } from '../../src/domain/ids';
import type { EpochMillis } from '../../src/domain/time';
import { MemoryNode, withEntry } from '../../src/store/memory/memory-node';
import type { MemorySnapshot } from '../../src/store/memory/memory-node';
import { StoreError } from '../../src/store/metadata-store';
import type { NoticeBus } from '../../src/store/notice-bus';
import type { FaultPlan } from './faults';
import type { SeededRandom } from './random';
import type { Scheduler, SimulatedProcess } from './scheduler';
import { REDIS_CALL_TIMEOUT_MS } from './timing';
import type { Trace } from './trace';

const START_MS = 1_800_000_000_000;
/** How far a rollback reaches back at most, milliseconds: snapshots that are older are dropped. */
export const ROLLBACK_REACH_MS = 8_000;
const CALL_MS = { low: 0.25, high: 2 } as const;
const SLOW_CALL_MS = { low: 20, high: 600 } as const;

export interface RedisWorld {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly plan: FaultPlan;
  readonly trace: Trace;
}

interface WriteSnapshot {
  readonly atMs: number;
  readonly held: MemorySnapshot;
}

/**
 * One Redis: a `MemoryNode` that can be away, slow, restarted, set back to an earlier write, and whose clock can jump.
 * AVAILABLE or DOWN (until `isUp` again); each time it goes down its connections end, so what was under way fails.
 */
export class SimulatedRedis {
  readonly node = new MemoryNode(() => this.clockMs() as EpochMillis);
  /** Of the connections: those of an earlier generation are broken. */
  generation = 0;
  isUp = true;
  slowUntilMs = 0;
  private clockAheadMs = 0;
  private ids = 0;
  private snapshots: WriteSnapshot[] = [];

  constructor(readonly world: RedisWorld) {
    this.changeIdentity();
    this.snapshots.push({ atMs: 0, held: this.node.snapshot() });
  }

  /** The Redis clock: whole milliseconds. */
  clockMs(): number {
    return Math.floor(START_MS + this.world.scheduler.nowMs + this.clockAheadMs);
  }

  goDown(): void {
    this.isUp = false;
    this.generation += 1;
  }

  comeBack(): void {
    this.isUp = true;
  }

  /** The process, or the server, is another one. */
  changeIdentity(): void {
    this.ids += 1;
    this.node.redisId = `redis-${this.ids}`;
  }

  jumpClock(byMs: number): void {
    this.clockAheadMs += byMs;
  }

  /** Its state is that of an earlier moment. @returns how many writes it lacks. */
  rollBack(): number {
    const { random } = this.world;
    const last = this.snapshots.length - 1;
    const kept = random.chance(0.6) ? this.beforeGroupWrites(1 + random.below(6)) : random.below(last + 1);
    const snapshot = this.snapshots[kept];
    if (snapshot === undefined) return 0;
    this.node.restore(snapshot.held);
    this.snapshots.length = kept + 1;
    return last - kept;
  }

  /** The state right before the latest so many writes of a group; locks, leases and passes lie in between. */
  private beforeGroupWrites(count: number): number {
    let writes = 0;
    let at = this.snapshots.length - 1;
    for (; at > 0; at -= 1) {
      if (writesOf(this.snapshots[at]) !== writesOf(this.snapshots[at - 1])) writes += 1;
      if (writes === count) return at - 1;
    }
    return at;
  }

  deleteMetadata(key: GroupKey): void {
    this.node.groups = withEntry(this.node.groups, groupKeyText(key), null);
    this.noteWrite();
  }

  /** Called after each command: a rollback goes to the state between two writes. */
  noteWrite(): void {
    const { node, snapshots } = this;
    const held = snapshots[snapshots.length - 1]?.held;
    const isSame =
      held?.groups === node.groups &&
      held.locks === node.locks &&
      held.index === node.index &&
      held.loop === node.loop &&
      held.records === node.records;
    if (isSame) return;
    const nowMs = this.world.scheduler.nowMs;
    snapshots.push({ atMs: nowMs, held: node.snapshot() });
    if (snapshots.length > 400) this.forgetOldSnapshots(nowMs);
  }

  private forgetOldSnapshots(nowMs: number): void {
    const first = this.snapshots.findIndex(({ atMs }) => nowMs - atMs <= ROLLBACK_REACH_MS);
    this.snapshots = this.snapshots.slice(Math.max(0, first));
  }
}

/** Which writes of groups a state holds. */
function writesOf(snapshot: WriteSnapshot | undefined): string {
  return [...(snapshot?.held.groups.values() ?? [])].map(({ writeId }) => writeId).join(' ');
}

/** One coordinator's connection to Redis: calls go out and are answered in order, may be lost, and end within a deadline. */
export class RedisConnection {
  private lastArrivalMs = 0;
  private lastAnswerMs = 0;

  constructor(
    private readonly redis: SimulatedRedis,
    private readonly owner: SimulatedProcess,
  ) {}

  /** The port, with every method going through this connection. `execute` is called when the command reaches Redis. */
  over<Port extends object>(
    port: Port,
    execute: (name: string, args: readonly unknown[], run: () => Promise<unknown>) => Promise<unknown> = (
      _name,
      _args,
      run,
    ) => run(),
  ): Port {
    return new Proxy(port, {
      get: (target, name, receiver) => {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== 'function') return method;
        return (...args: readonly unknown[]) => {
          const run = (): Promise<unknown> => Reflect.apply(method, target, args) as Promise<unknown>;
          return this.call(String(name), () => execute(String(name), args, run));
        };
      },
    });
  }

  /** Notices come over a connection of their own: late, or not at all. */
  notices(): NoticeBus {
    const { scheduler, random, plan } = this.redis.world;
    return {
      onNotice: (listener) =>
        this.redis.node.subscribe((key) => {
          if (plan.strikes('NOTICE_LOST')) return;
          scheduler.after(random.between(0.25, 6), this.owner, () => listener(key));
        }),
    };
  }

  private call(operation: string, execute: () => Promise<unknown>): Promise<unknown> {
    const { redis, owner } = this;
    const { scheduler, plan } = redis.world;
    const { generation } = redis;
    return new Promise((resolve, reject) => {
      const fail = (fault: 'CONNECTION' | 'TIMEOUT'): void => {
        cancelDeadline();
        reject(new StoreError(operation, fault, true, { cause: fault }));
      };
      const cancelDeadline = scheduler.after(REDIS_CALL_TIMEOUT_MS, owner, () => fail('TIMEOUT'));
      const failSoon = (): void => {
        scheduler.after(this.latencyMs(), owner, () => fail('CONNECTION'));
      };
      if (!redis.isUp || plan.strikes('REDIS_CALL_LOST')) {
        failSoon();
        return;
      }
      // What has been sent is carried out even if the sender is gone by then.
      scheduler.after(this.arrivalInMs(), null, () => {
        if (redis.generation !== generation) {
          failSoon();
          return;
        }
        const answer = (settle: () => void): void => {
          redis.noteWrite();
          if (plan.strikes('REDIS_ANSWER_LOST')) {
            failSoon();
            return;
          }
          scheduler.after(this.answerInMs(), owner, () => {
            if (redis.generation !== generation) fail('CONNECTION');
            else {
              cancelDeadline();
              settle();
            }
          });
        };
        execute().then(
          (outcome) => answer(() => resolve(outcome)),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  }

  private arrivalInMs(): number {
    const { nowMs } = this.redis.world.scheduler;
    this.lastArrivalMs = Math.max(this.lastArrivalMs, nowMs + this.latencyMs());
    return this.lastArrivalMs - nowMs;
  }

  private answerInMs(): number {
    const { nowMs } = this.redis.world.scheduler;
    this.lastAnswerMs = Math.max(this.lastAnswerMs, nowMs + this.latencyMs());
    return this.lastAnswerMs - nowMs;
  }

  private latencyMs(): number {
    const { scheduler, random } = this.redis.world;
    const { low, high } = scheduler.nowMs < this.redis.slowUntilMs ? SLOW_CALL_MS : CALL_MS;
    return random.between(low, high);
  }
}
