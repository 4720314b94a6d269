import type { Clock } from '../consumer/clock';
import { HighestVersion } from './highest-version';
import { isVersion, VersionStoreError } from './version-store';
import type { VersionStore } from './version-store';

/** A start waits no longer for the store. Milliseconds. */
export const LOAD_TIMEOUT_MS = 2_000;
/** Saves do not begin closer together. Milliseconds. */
export const SAVE_INTERVAL_MS = 1_000;
/** A save that takes longer is told of. No other is begun meanwhile. Milliseconds. */
export const SLOW_SAVE_MS = 5_000;
/** A stop waits no longer for the last save. Milliseconds. */
export const CLOSE_TIMEOUT_MS = 2_000;

export interface VersionKeeperOptions {
  /** null: nothing is kept beyond this process. */
  readonly store: VersionStore | null;
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  readonly clock: Clock;
  readonly onFault: (error: VersionStoreError) => void;
}

/**
 * The highest version that one consumer or publisher saw of its group, and the way of it into the store: loaded once, saved
 * when it has grown. Nobody who shows it a version ever waits for the store.
 * States: idle; waiting (a timer will begin the next save); saving (one, however long it takes); closed.
 */
export class VersionKeeper {
  readonly seen = new HighestVersion(() => this.scheduleSave());
  private readonly key: string;
  /** What the store has, as far as is known. */
  private kept = 0;
  private lastSaveMs = Number.NEGATIVE_INFINITY;
  private loading: Promise<void> | null = null;
  private saving: Promise<void> | null = null;
  private cancelTimer: (() => void) | null = null;
  private isClosed = false;

  constructor(private readonly options: VersionKeeperOptions) {
    this.key = `${options.streamPrefix}:${options.consumerGroup}`;
  }

  /** Never rejects; resolves after LOAD_TIMEOUT_MS at the latest. What comes later than that counts when it comes. */
  async load(): Promise<void> {
    this.loading ??= this.loadOnce();
    return this.loading;
  }

  private async loadOnce(): Promise<void> {
    const { store } = this.options;
    if (store === null) return;
    if (!(await this.within(LOAD_TIMEOUT_MS, this.loadFrom(store)))) {
      this.fault('load', `no answer within ${LOAD_TIMEOUT_MS} ms`);
    }
  }

  /** Saves what is not kept yet. Never rejects; resolves after CLOSE_TIMEOUT_MS at the latest. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelTimer?.();
    this.cancelTimer = null;
    const { store } = this.options;
    if (store === null || (this.saving === null && this.seen.value <= this.kept)) return;
    if (!(await this.within(CLOSE_TIMEOUT_MS, this.saveLast(store)))) {
      this.fault('save', `not done within ${CLOSE_TIMEOUT_MS} ms of the end`);
    }
  }

  private async loadFrom(store: VersionStore): Promise<void> {
    try {
      const version = await store.load(this.key);
      if (version === null) return;
      if (!isVersion(version)) throw new Error(`it holds ${String(version)}, which is no version`);
      this.kept = Math.max(this.kept, version);
      this.seen.observe(version);
    } catch (cause) {
      this.fault('load', reasonOf(cause), cause);
    }
  }

  private async saveLast(store: VersionStore): Promise<void> {
    await this.saving;
    if (this.seen.value > this.kept) await this.save(store);
  }

  private scheduleSave(): void {
    const { store, clock } = this.options;
    if (store === null || this.isClosed || this.saving !== null || this.cancelTimer !== null) return;
    if (this.seen.value <= this.kept) return;
    const delayMs = Math.max(0, this.lastSaveMs + SAVE_INTERVAL_MS - clock.nowMs());
    this.cancelTimer = clock.after(delayMs, () => {
      this.cancelTimer = null;
      this.saving = this.save(store).then(() => {
        this.saving = null;
        this.scheduleSave(); // what has grown meanwhile, or what could not be saved
      });
    });
  }

  /** Never rejects. */
  private async save(store: VersionStore): Promise<void> {
    const { clock } = this.options;
    this.lastSaveMs = clock.nowMs();
    const cancel = clock.after(SLOW_SAVE_MS, () => this.fault('save', `no answer for ${SLOW_SAVE_MS} ms`));
    const version = this.seen.value;
    try {
      await store.save(this.key, version);
      this.kept = Math.max(this.kept, version);
    } catch (cause) {
      this.fault('save', reasonOf(cause), cause);
    } finally {
      cancel();
    }
  }

  /** Whether the work was done in time. It must not reject. */
  private async within(limitMs: number, work: Promise<void>): Promise<boolean> {
    let cancel: () => void = () => undefined;
    const limit = new Promise<boolean>((resolve) => {
      cancel = this.options.clock.after(limitMs, () => resolve(false));
    });
    try {
      return await Promise.race([work.then(() => true), limit]);
    } finally {
      cancel();
    }
  }

  private fault(operation: 'load' | 'save', reason: string, cause?: unknown): void {
    const options = cause === undefined ? {} : { cause };
    this.options.onFault(new VersionStoreError(operation, this.key, reason, options));
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
