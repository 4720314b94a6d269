import { parseGroupKeyText } from '../../domain/ids';
import type { GroupKey } from '../../domain/ids';
import type { EpochMillis } from '../../domain/time';
import type { StoredGroup } from '../codec';
import type { StreamRecord } from '../group-index';

/** A group's hash: the same fields with the same texts as in Redis. */
export interface MemoryGroup extends StoredGroup {
  /** Deadlines by member id. */
  readonly leases: ReadonlyMap<string, string>;
  readonly reports: ReadonlyMap<string, string>;
}

export interface MemoryLock {
  readonly token: string;
  readonly untilMs: number;
}

export interface MemoryLoop {
  readonly lastPassMs: number;
  readonly coordinatorId: string;
  readonly quietCausedAtMs: number | null;
  readonly quietUntilMs: number | null;
  readonly redisId: string;
  readonly lossUntilMs: number | null;
}

export type MemoryStreamRecord = StreamRecord;

/** What a node held at one moment. */
export type MemorySnapshot = Pick<MemoryNode, 'groups' | 'locks' | 'index' | 'loop' | 'records' | 'streams'>;

/**
 * Stands in for one Redis: what all in-memory adapters share, as several coordinators share a Redis. Its values are
 * replaced, never changed, so a snapshot is cheap. `now` is the Redis clock.
 */
export class MemoryNode {
  /** Set another one for a restart or a failover: a snapshot does not bring it back. */
  redisId = 'node-1/repl-1';
  groups: ReadonlyMap<string, MemoryGroup> = new Map();
  locks: ReadonlyMap<string, MemoryLock> = new Map();
  /** Due times by group key text. */
  index: ReadonlyMap<string, number> = new Map();
  loop: MemoryLoop | null = null;
  records: ReadonlyMap<string, MemoryStreamRecord> = new Map();
  /** Redis groups by stream key. */
  streams: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  private readonly listeners = new Set<(key: GroupKey) => void>();

  constructor(readonly now: () => EpochMillis) {}

  snapshot(): MemorySnapshot {
    const { groups, locks, index, loop, records, streams } = this;
    return { groups, locks, index, loop, records, streams };
  }

  /** Redis comes back with what it held then. */
  restore(snapshot: MemorySnapshot): void {
    Object.assign(this, snapshot);
  }

  /** The lock that holds now, if one does. */
  lockOf(key: string): MemoryLock | null {
    const lock = this.locks.get(key);
    return lock === undefined || lock.untilMs <= this.now() ? null : lock;
  }

  publish(keyText: string): void {
    const key = parseGroupKeyText(keyText);
    if (key === null) return;
    for (const listener of this.listeners) listener(key);
  }

  subscribe(listener: (key: GroupKey) => void): () => void {
    const own = (key: GroupKey): void => listener(key);
    this.listeners.add(own);
    return () => this.listeners.delete(own);
  }
}

/** A copy with the entry set, or removed when `value` is null. */
export function withEntry<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
  value: Value | null,
): ReadonlyMap<string, Value> {
  const copy = new Map(map);
  if (value === null) copy.delete(key);
  else copy.set(key, value);
  return copy;
}
