import type { GroupKey } from '../domain/ids';
import { groupKeyText } from '../domain/ids';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { MonotonicMillis } from '../domain/time';
import type { LockOutcome, LockRequest, MetadataStore, Unreadable } from '../store/metadata-store';
import type { Clock, Random } from './runtime-ports';
import {
  CoordinatorTerminatingError,
  LockTimeoutError,
  MetadataCorruptError,
  MetadataSchemaUnsupportedError,
  type SectionError,
} from './section-errors';
import type { SectionMetrics } from './section-metrics';
import type { ShutdownGate } from './shutdown-gate';

const MIN_BACKOFF_MS = 5;
const MAX_BACKOFF_MS = 50;

export interface RedisLockOptions {
  readonly lockTtlMs: number;
  /** How long to ask for a lock that others hold, milliseconds; above the lock's TTL, so that a dead holder is outlived. */
  readonly lockWaitMs: number;
}

/** A lock that was had, and what was read with it. The gate waits for it until `gate.release()`. */
export interface HeldLock {
  readonly token: string;
  /** CORRUPT only if the lock was asked for to replace that. */
  readonly loaded: Extract<LockOutcome, { readonly kind: 'LOADED' | 'MISSING' | 'CORRUPT' }>;
  /** What was known of the group when the lock was asked for: Redis held nothing older than this then. */
  readonly known: GroupMetadata | null;
  /** When the lock was asked for: its TTL began no earlier. */
  readonly askedAtMs: MonotonicMillis;
}

/** Takes the section lock of a group together with the load. Other coordinators contend by asking again, with jitter. */
export class RedisLock {
  constructor(
    private readonly store: MetadataStore,
    private readonly gate: ShutdownGate,
    private readonly options: RedisLockOptions,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly metrics: Pick<SectionMetrics, 'metadataUnreadable'>,
  ) {}

  /**
   * `startedAtMs`: when the section began, all its attempts included; from then on the wait is counted.
   * @throws CoordinatorTerminatingError as long as the lock has not been had; LockTimeoutError; MetadataCorruptError;
   * MetadataSchemaUnsupportedError; StoreError. In all these cases the lock is not held (or is given back in the background).
   */
  async acquire(
    key: GroupKey,
    known: () => GroupMetadata | null,
    startedAtMs: MonotonicMillis,
    holdsCorrupt = false,
  ): Promise<HeldLock> {
    const deadlineMs = startedAtMs + this.options.lockWaitMs;
    for (let refusals = 0; ; refusals += 1) {
      const held = await this.ask(key, known(), holdsCorrupt);
      if (held !== null) return held;
      const nowMs = this.clock.monotonicMs();
      const backoffMs = this.backoffMs(refusals);
      if (nowMs + backoffMs > deadlineMs) throw new LockTimeoutError(groupKeyText(key), nowMs - startedAtMs);
      await this.pause(backoffMs);
    }
  }

  /** Gives the lock back without waiting for it; if that fails, its TTL does. */
  abandon(key: GroupKey, token: string): void {
    this.store.unlock(key, token).catch(() => undefined);
  }

  private async ask(
    key: GroupKey,
    known: GroupMetadata | null,
    holdsCorrupt: boolean,
  ): Promise<HeldLock | null> {
    const token = this.random.id();
    const askedAtMs = this.clock.monotonicMs();
    this.gate.hold();
    let isHeld = false;
    try {
      const loaded = await this.lockAndLoad(key, {
        token,
        lockTtlMs: this.options.lockTtlMs,
        known,
        holdsCorrupt,
      });
      if (loaded.kind === 'BUSY') return null;
      if (loaded.kind === 'CORRUPT' || loaded.kind === 'SCHEMA_UNSUPPORTED') {
        this.metrics.metadataUnreadable(loaded.kind);
        if (loaded.kind === 'SCHEMA_UNSUPPORTED' || !holdsCorrupt) throw unreadableError(key, loaded);
      }
      isHeld = true;
      return { token, loaded, known, askedAtMs };
    } finally {
      if (!isHeld) this.gate.release();
    }
  }

  private async lockAndLoad(key: GroupKey, request: LockRequest): Promise<LockOutcome> {
    try {
      return await this.store.lockAndLoad(key, request);
    } catch (error) {
      // The lock may have been taken although the answer was lost.
      this.abandon(key, request.token);
      throw error;
    }
  }

  /** Doubles from the smallest to the largest; the jitter is half of it, so that contenders do not march in step. */
  private backoffMs(refusals: number): number {
    const ceilingMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(refusals + 1, 10));
    return Math.max(
      MIN_BACKOFF_MS,
      Math.ceil(ceilingMs / 2) + this.random.below(Math.ceil(ceilingMs / 2) + 1),
    );
  }

  private pause(delayMs: number): Promise<void> {
    if (this.gate.isClosed) return Promise.reject(new CoordinatorTerminatingError());
    return new Promise((resolve, reject) => {
      const unsubscribe = this.gate.onClose(() => {
        cancel();
        reject(new CoordinatorTerminatingError());
      });
      const cancel = this.clock.schedule(delayMs, () => {
        unsubscribe();
        resolve();
      });
    });
  }
}

/** What a caller is told when the stored value cannot be read; also for reads outside of sections. */
export function unreadableError(key: GroupKey, unreadable: Unreadable): SectionError {
  const text = groupKeyText(key);
  switch (unreadable.kind) {
    case 'CORRUPT':
      return new MetadataCorruptError(text, unreadable.reason);
    case 'SCHEMA_UNSUPPORTED':
      return new MetadataSchemaUnsupportedError(text, unreadable.schemaVersion, unreadable.layoutVersion);
  }
}
