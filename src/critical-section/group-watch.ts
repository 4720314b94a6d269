import type { GroupState } from '../domain/coordinator/decision';
import type { GroupKey } from '../domain/ids';
import { groupKeyText } from '../domain/ids';
import type { MetadataStore } from '../store/metadata-store';
import type { NoticeBus } from '../store/notice-bus';
import type { ConfirmedGroups } from './confirmed-groups';
import type { Clock } from './runtime-ports';
import { SectionQueueFullError } from './section-errors';
import type { SectionMetrics } from './section-metrics';
import type { ShutdownGate } from './shutdown-gate';

type IsChanged = (state: GroupState) => boolean;

interface Watcher {
  readonly isChanged: IsChanged;
  readonly finish: (state: GroupState | null) => void;
}

interface WatchedGroup {
  readonly key: GroupKey;
  readonly watchers: Set<Watcher>;
  isLoading: boolean;
  /** A notice came while a load was under way: that load may have been too early. */
  isLoadWanted: boolean;
}

export interface GroupWatchParts {
  readonly store: MetadataStore;
  readonly confirmed: ConfirmedGroups;
  readonly notices: NoticeBus;
  readonly gate: ShutdownGate;
  readonly clock: Clock;
  readonly maxWatchers: number;
  readonly metrics: Pick<SectionMetrics, 'longPollsWaiting'>;
}

/**
 * Long polls. A watcher holds no lock, no place in a queue and no count at the gate; it ends by the first of: the group has
 * changed in its eyes, its time is over, its caller is gone, the gate closes. Commits of this process wake it with what they
 * wrote; a notice makes one load, shared by all who watch the group. A notice is a hint: a lost one costs the rest of the wait.
 */
export class GroupWatch {
  private readonly groups = new Map<string, WatchedGroup>();
  private watcherCount = 0;
  private readonly unsubscribe: () => void;

  constructor(private readonly parts: GroupWatchParts) {
    this.unsubscribe = parts.notices.onNotice((key) => this.noticed(key));
    parts.gate.onClose(() => this.close());
  }

  get size(): number {
    return this.watcherCount;
  }

  /**
   * @returns the group once `isChanged` holds of it; null when it did not within `waitMs`, or nobody waits any more.
   * @throws SectionQueueFullError when too many wait already.
   */
  waitForChange(
    key: GroupKey,
    isChanged: IsChanged,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<GroupState | null> {
    if (this.parts.gate.isClosed || signal?.aborted === true || waitMs <= 0) return Promise.resolve(null);
    // What was written between the caller's answer and now.
    const known = this.parts.confirmed.get(groupKeyText(key));
    if (known !== undefined && !known.isStale && isChanged(known)) return Promise.resolve(known);
    if (this.watcherCount >= this.parts.maxWatchers)
      return Promise.reject(new SectionQueueFullError('WATCHERS'));
    return new Promise((resolve) => {
      const group = this.groupOf(key);
      const finish = (state: GroupState | null): void => {
        if (!group.watchers.delete(watcher)) return;
        this.count(-1);
        cancel();
        signal?.removeEventListener('abort', onAbort);
        if (group.watchers.size === 0) this.groups.delete(groupKeyText(key));
        resolve(state);
      };
      const watcher: Watcher = { isChanged, finish };
      const onAbort = (): void => finish(null);
      const cancel = this.parts.clock.schedule(waitMs, onAbort);
      signal?.addEventListener('abort', onAbort);
      group.watchers.add(watcher);
      this.count(1);
    });
  }

  /** A commit of this process changed the group: no load is needed. */
  committed(key: GroupKey, state: GroupState): void {
    const group = this.groups.get(groupKeyText(key));
    if (group !== undefined) wake(group, state);
  }

  private count(by: 1 | -1): void {
    this.watcherCount += by;
    this.parts.metrics.longPollsWaiting(this.watcherCount);
  }

  private close(): void {
    this.unsubscribe();
    for (const group of [...this.groups.values()]) {
      for (const watcher of [...group.watchers]) watcher.finish(null);
    }
  }

  private groupOf(key: GroupKey): WatchedGroup {
    const text = groupKeyText(key);
    const known = this.groups.get(text);
    if (known !== undefined) return known;
    const group: WatchedGroup = { key, watchers: new Set(), isLoading: false, isLoadWanted: false };
    this.groups.set(text, group);
    return group;
  }

  private noticed(key: GroupKey): void {
    const group = this.groups.get(groupKeyText(key));
    if (group === undefined) return;
    group.isLoadWanted = true;
    if (!group.isLoading) this.load(group).catch(() => undefined);
  }

  private async load(group: WatchedGroup): Promise<void> {
    group.isLoading = true;
    try {
      // Ends: each round is caused by a notice that came during the one before.
      while (group.isLoadWanted && group.watchers.size > 0) {
        group.isLoadWanted = false;
        const state = await this.read(group.key);
        if (state !== null) wake(group, state);
      }
    } finally {
      group.isLoading = false;
    }
  }

  private async read(key: GroupKey): Promise<GroupState | null> {
    const text = groupKeyText(key);
    const { store, confirmed } = this.parts;
    const loaded = await store.load(key, confirmed.get(text)?.metadata);
    switch (loaded.kind) {
      case 'LOADED':
        confirmed.confirmRead(text, loaded);
        // A commit may have overtaken this read: nobody is woken with an older view.
        return confirmed.get(text) ?? loaded;
      case 'MISSING': {
        const missing: GroupState = { metadata: null, leases: new Map() };
        confirmed.confirmRead(text, missing);
        return missing;
      }
      case 'CORRUPT':
      case 'SCHEMA_UNSUPPORTED':
        return null; // whoever asks next is told
    }
  }
}

function wake(group: WatchedGroup, state: GroupState): void {
  for (const watcher of [...group.watchers]) {
    if (watcher.isChanged(state)) watcher.finish(state);
  }
}
