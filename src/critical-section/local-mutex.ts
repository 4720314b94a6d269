import type { GroupKey } from '../domain/ids';
import { groupKeyText } from '../domain/ids';
import type { MonotonicMillis } from '../domain/time';
import type { Clock } from './runtime-ports';
import { LockTimeoutError, SectionQueueFullError } from './section-errors';

/** What waits in the queue: it only has to be refusable. */
export interface Waiting {
  reject(error: unknown): void;
}

export interface MutexBounds {
  /** Commands that one section decides at most. */
  readonly maxBatch: number;
  /** Commands that may wait for one group, and for all groups together. */
  readonly maxQueuedPerGroup: number;
  readonly maxQueuedTotal: number;
  /** How long a command waits for its turn at most, milliseconds. */
  readonly queueWaitMs: number;
}

/** One section's right to its group. Ends when the runner's promise settles. */
export interface Turn<Item> {
  readonly items: Item[];
  /** Adds what came in meanwhile to `items`, up to the bound of a batch. */
  takeMore(): void;
  /** Gives the last `count` items back to the front of the queue. */
  putBack(count: number): void;
}

interface Queued<Item> {
  readonly item: Item;
  readonly enqueuedAtMs: MonotonicMillis;
}

interface GroupQueue<Item> {
  readonly key: GroupKey;
  readonly text: string;
  readonly queued: Queued<Item>[];
  cancelTimer: (() => void) | null;
}

/**
 * One section at a time per group in this process, first come first served, and the whole queue in one section (group
 * commit). A group has an entry in `groups` exactly while a section of it runs or is about to. An item is either queued (the
 * mutex may refuse it: full, too late, terminating) or taken (only the section settles it): so a refused one never runs.
 */
export class LocalMutex<Item extends Waiting> {
  private readonly groups = new Map<string, GroupQueue<Item>>();
  private queuedTotal = 0;

  constructor(
    private readonly bounds: MutexBounds,
    private readonly clock: Clock,
    /** Runs a section for the turn; settles every item that it keeps. Must not reject. */
    private readonly runSection: (key: GroupKey, turn: Turn<Item>) => Promise<void>,
  ) {}

  get queuedCount(): number {
    return this.queuedTotal;
  }

  /** @throws SectionQueueFullError */
  submit(key: GroupKey, item: Item): void {
    const text = groupKeyText(key);
    const group = this.groups.get(text);
    if (this.queuedTotal >= this.bounds.maxQueuedTotal) throw new SectionQueueFullError('TOTAL');
    if (group === undefined) {
      this.start({ key, text, queued: [], cancelTimer: null }, item);
      return;
    }
    if (group.queued.length >= this.bounds.maxQueuedPerGroup) throw new SectionQueueFullError('GROUP');
    group.queued.push({ item, enqueuedAtMs: this.clock.monotonicMs() });
    this.queuedTotal += 1;
    this.watchHead(group);
  }

  /** Refuses everything that has not been taken yet. */
  refuseQueued(error: unknown): void {
    for (const group of this.groups.values()) this.refuse(group, group.queued.length, () => error);
  }

  private start(group: GroupQueue<Item>, first: Item): void {
    this.groups.set(group.text, group);
    group.queued.push({ item: first, enqueuedAtMs: this.clock.monotonicMs() });
    this.queuedTotal += 1;
    this.runTurns(group).catch((error: unknown) => {
      this.refuse(group, group.queued.length, () => error);
      this.groups.delete(group.text);
    });
  }

  private async runTurns(group: GroupQueue<Item>): Promise<void> {
    // Ends: every turn takes at least one item, or finds none; what arrives in between is bounded by the queue.
    for (;;) {
      const taken: Queued<Item>[] = [];
      this.take(group, taken);
      if (taken.length === 0) break;
      await this.runSection(group.key, this.turnOf(group, taken));
    }
    group.cancelTimer?.();
    this.groups.delete(group.text);
  }

  private turnOf(group: GroupQueue<Item>, taken: Queued<Item>[]): Turn<Item> {
    const items = taken.map(({ item }) => item);
    return {
      items,
      takeMore: () => {
        const before = taken.length;
        this.take(group, taken);
        for (const { item } of taken.slice(before)) items.push(item);
      },
      putBack: (count) => {
        if (count === 0) return;
        items.splice(items.length - count);
        group.queued.unshift(...taken.splice(taken.length - count));
        this.queuedTotal += count;
        this.watchHead(group);
      },
    };
  }

  private take(group: GroupQueue<Item>, taken: Queued<Item>[]): void {
    const more = group.queued.splice(0, this.bounds.maxBatch - taken.length);
    this.queuedTotal -= more.length;
    taken.push(...more);
  }

  /** One timer per group, for the item that has waited longest; it is moved on only when it fires. */
  private watchHead(group: GroupQueue<Item>): void {
    const head = group.queued[0];
    if (head === undefined || group.cancelTimer !== null) return;
    const dueMs = head.enqueuedAtMs + this.bounds.queueWaitMs - this.clock.monotonicMs();
    group.cancelTimer = this.clock.schedule(Math.max(0, Math.ceil(dueMs)), () => {
      group.cancelTimer = null;
      this.refuseOverdue(group);
      this.watchHead(group);
    });
  }

  private refuseOverdue(group: GroupQueue<Item>): void {
    const nowMs = this.clock.monotonicMs();
    const firstInTime = group.queued.findIndex(
      ({ enqueuedAtMs }) => nowMs - enqueuedAtMs < this.bounds.queueWaitMs,
    );
    const overdue = firstInTime < 0 ? group.queued.length : firstInTime;
    this.refuse(group, overdue, ({ enqueuedAtMs }) => new LockTimeoutError(group.text, nowMs - enqueuedAtMs));
  }

  private refuse(group: GroupQueue<Item>, count: number, errorOf: (queued: Queued<Item>) => unknown): void {
    const refused = group.queued.splice(0, count);
    this.queuedTotal -= refused.length;
    for (const queued of refused) queued.item.reject(errorOf(queued));
  }
}
