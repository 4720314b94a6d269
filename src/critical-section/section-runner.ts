import type { GroupState } from '../domain/coordinator/decision';
import { countNext, type StoreRevision } from '../domain/epochs';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey, MemberId, WriteId } from '../domain/ids';
import { groupKeyText } from '../domain/ids';
import type { EpochMillis, MonotonicMillis } from '../domain/time';
import type { GroupIndex } from '../store/group-index';
import type { CommitOutcome, GroupCommit, MetadataStore } from '../store/metadata-store';
import { decideBatch } from './batch-decision';
import type { BatchDecision, GroupRules } from './batch-decision';
import type { ConfirmedGroups } from './confirmed-groups';
import type { DecisionContexts } from './decision-contexts';
import type { GroupWatch } from './group-watch';
import { commandOn, isRegression, lockedState, replacesCorrupt } from './locked-group';
import type { Turn } from './local-mutex';
import type { PendingCommand } from './pending-command';
import type { HeldLock, RedisLock } from './redis-lock';
import type { Clock, Random } from './runtime-ports';
import { StateConflictError } from './section-errors';
import type { SectionMetrics } from './section-metrics';
import type { SectionOptions } from './section-options';
import type { ShutdownGate } from './shutdown-gate';

export interface SectionRunnerParts {
  readonly store: MetadataStore;
  readonly index: Pick<GroupIndex, 'bringForward' | 'remove'>;
  readonly lock: RedisLock;
  readonly gate: ShutdownGate;
  readonly confirmed: ConfirmedGroups;
  readonly contexts: DecisionContexts;
  readonly watch: Pick<GroupWatch, 'committed'>;
  readonly rules: GroupRules;
  readonly options: SectionOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: SectionMetrics;
}

/** One attempt's view of the section it runs in. */
interface Attempt {
  readonly key: GroupKey;
  readonly text: string;
  readonly held: HeldLock;
  readonly turn: Turn<PendingCommand>;
}

/** What an attempt is about to record. */
interface Intent {
  readonly loaded: GroupState;
  readonly decided: BatchDecision;
  readonly nowMs: EpochMillis;
}

/**
 * Runs one section for a turn of the local mutex: lock and load, decide all, commit and unlock: two round trips, and a third
 * before the commit when the group's due time gets earlier. Everything is decided again when the commit is refused.
 */
export class SectionRunner {
  constructor(private readonly parts: SectionRunnerParts) {}

  /** Settles every item that the turn keeps; never rejects. */
  async run(key: GroupKey, turn: Turn<PendingCommand>): Promise<void> {
    const text = groupKeyText(key);
    const { clock, options } = this.parts;
    const { maxAttempts } = options;
    const startedAtMs = clock.monotonicMs();
    try {
      for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
        if (await this.attempt(key, text, turn, startedAtMs)) return;
      }
      throw new StateConflictError(text, maxAttempts);
    } catch (error) {
      for (const pending of turn.items) pending.reject(error);
    }
  }

  /** @returns false when it must be decided again. */
  private async attempt(
    key: GroupKey,
    text: string,
    turn: Turn<PendingCommand>,
    startedAtMs: MonotonicMillis,
  ): Promise<boolean> {
    const { lock, gate, confirmed, clock, metrics } = this.parts;
    const askedAtMs = clock.monotonicMs();
    const known = (): GroupMetadata | null => confirmed.get(text)?.metadata ?? null;
    const held = await lock.acquire(key, known, startedAtMs, turn.items.some(replacesCorrupt));
    const hadAtMs = clock.monotonicMs();
    metrics.lockWaited(hadAtMs - askedAtMs);
    try {
      return await this.decideAndRecord({ key, text, held, turn });
    } catch (error) {
      lock.abandon(key, held.token);
      throw error;
    } finally {
      metrics.sectionEnded(clock.monotonicMs() - hadAtMs, turn.items.length);
      gate.release();
    }
  }

  private async decideAndRecord(attempt: Attempt): Promise<boolean> {
    const { held, turn } = attempt;
    const { contexts, rules } = this.parts;
    // What has come in meanwhile is decided too, unless the lock may be lost by now: then it would be judged on an old value.
    if (!this.isOverBudget(held)) turn.takeMore();
    const loaded = lockedState(held.loaded);
    const context = contexts.contextOfLoad(loaded.metadata, held.loaded, held.known);
    const commands = turn.items.map((pending) => commandOn(held.loaded, attempt.text, pending));
    const decided = decideBatch(loaded, commands, context, rules);
    turn.putBack(turn.items.length - decided.outcomes.length);
    const intent: Intent = { loaded, decided, nowMs: context.nowMs };
    const commit = this.commitFor(held, intent);
    if (commit === null) {
      await this.leaveUnchanged(attempt, intent);
      return true;
    }
    return this.record(attempt, intent, commit);
  }

  private isOverBudget({ askedAtMs }: HeldLock): boolean {
    return this.parts.clock.monotonicMs() - askedAtMs > this.parts.options.sectionBudgetMs;
  }

  /** null: there is nothing to write. */
  private commitFor(held: HeldLock, { loaded, decided, nowMs }: Intent): GroupCommit | null {
    const { metadata } = decided.state;
    const isMoved = metadata !== loaded.metadata;
    if (!isMoved && (metadata === null || (decided.leaseChanges.size === 0 && decided.reports.size === 0))) {
      return null;
    }
    const base = loaded.metadata;
    return {
      token: held.token,
      ...(held.loaded.kind === 'CORRUPT' ? { replacesCorrupt: true } : {}),
      base: base === null ? null : { revision: base.storeRevision, writeId: base.writeId },
      next: !isMoved ? 'UNCHANGED' : metadata === null ? null : this.stamped(metadata, base, nowMs),
      leaseChanges: decided.leaseChanges,
      expectedLeases: expectedLeases(loaded, decided.endedTenures),
      reports: decided.reports,
      announce: isMoved,
    };
  }

  private stamped(metadata: GroupMetadata, base: GroupMetadata | null, nowMs: EpochMillis): GroupMetadata {
    return {
      ...metadata,
      // A group that is new or restored brings a value of its own, drawn from the clock.
      storeRevision: base === null ? metadata.storeRevision : laterRevision(metadata, base),
      writeId: this.parts.random.id() as WriteId,
      updatedAtMs: nowMs,
    };
  }

  private async leaveUnchanged(
    { key, text, held, turn }: Attempt,
    { loaded, decided }: Intent,
  ): Promise<void> {
    const { confirmed, index, store } = this.parts;
    // What betrays that Redis lost writes is kept until a command has recorded it.
    if (held.loaded.kind !== 'CORRUPT' && !isRegression(held.known, loaded.metadata))
      confirmed.confirmLocked(text, loaded, null);
    // Under the lock: who creates the group enters it into the index only while he holds it.
    if (held.loaded.kind === 'MISSING' && turn.items.some(({ options }) => options.removesPhantom === true))
      await index.remove(key);
    this.settle(turn.items, decided, loaded);
    await store.unlock(key, held.token).catch(() => undefined);
  }

  private async record(attempt: Attempt, intent: Intent, commit: GroupCommit): Promise<boolean> {
    const { key, text, held, turn } = attempt;
    const { store, confirmed, watch } = this.parts;
    const committed = committedState(intent, commit);
    const indexedDueMs = this.isOverBudget(held) ? null : await this.bringForward(attempt, intent, committed);
    if (this.isOverBudget(held)) return this.refused('OVER_BUDGET', attempt);
    const outcome = await store.commitAndUnlock(key, commit);
    if (outcome.kind !== 'COMMITTED') return this.refused(outcome.kind, attempt);
    confirmed.confirmLocked(text, committed, indexedDueMs);
    if (committed.metadata === null) await this.removeFromIndex(key);
    this.settle(turn.items, intent.decided, committed);
    if (commit.announce) {
      watch.committed(key, committed);
      this.measure(turn.items, intent, committed);
    }
    return true;
  }

  private measure(items: readonly PendingCommand[], { loaded, nowMs }: Intent, committed: GroupState): void {
    const { metrics, options } = this.parts;
    const commands = items.map(({ command }) => command.name);
    metrics.committed({ before: loaded, after: committed, commands, nowMs, timing: options.timing });
  }

  private async refused(
    kind: Exclude<CommitOutcome['kind'], 'COMMITTED'> | 'OVER_BUDGET',
    { key, held }: Attempt,
  ): Promise<false> {
    this.parts.metrics.commitRefused(kind);
    // Otherwise the next attempt would wait for our own lock.
    if (kind === 'OVER_BUDGET') await this.parts.store.unlock(key, held.token).catch(() => undefined);
    return false;
  }

  /**
   * Before the commit, so that the event loop never looks too late. What is known of the index is worth something only while
   * it lies in the future: once it is over, another coordinator may have looked, and set a later one.
   * @returns what the index holds at the latest now, as far as this call established it.
   */
  private async bringForward(
    { key, text, held }: Attempt,
    { loaded, nowMs }: Intent,
    { metadata, leases }: GroupState,
  ): Promise<EpochMillis | null> {
    if (metadata === null) return null;
    const { rules, options, confirmed, index } = this.parts;
    const dueMs = rules.nextDueMs(metadata, leases, options.timing, nowMs);
    const known = confirmed.get(text);
    // A group that comes back may have lost its entry with the rest.
    const isSameLife = loaded.metadata !== null && known?.metadata.incarnation === metadata.incarnation;
    const knownDueMs = isSameLife ? known.indexedDueMs : null;
    const isKnown =
      knownDueMs !== null && knownDueMs > held.loaded.redisNowMs + options.timing.tickIntervalMs / 2;
    if (isKnown && knownDueMs <= dueMs) return null;
    await index.bringForward(key, dueMs);
    return dueMs;
  }

  /** Under the lock again: the group may be created anew at any time. If this fails, the event loop finds a phantom. */
  private async removeFromIndex(key: GroupKey): Promise<void> {
    const { store, index, options, random } = this.parts;
    const token = random.id();
    try {
      const locked = await store.lockAndLoad(key, { token, lockTtlMs: options.lockTtlMs, known: null });
      if (locked.kind === 'MISSING') await index.remove(key);
      if (locked.kind === 'MISSING' || locked.kind === 'LOADED') await store.unlock(key, token);
    } catch {
      this.parts.lock.abandon(key, token);
    }
  }

  private settle(items: readonly PendingCommand[], decided: BatchDecision, state: GroupState): void {
    items.forEach((pending, position) => {
      const outcome = decided.outcomes[position];
      if (outcome === undefined) return;
      const { metrics } = this.parts;
      if (outcome.kind === 'FAILED') {
        metrics.decided(pending.command.name, 'FAILED');
        pending.reject(outcome.error);
        return;
      }
      metrics.decided(pending.command.name, outcome.isChange ? 'COMMITTED' : 'UNCHANGED');
      try {
        const { decision } = outcome;
        pending.resolve({ reply: decision.reply(state), effects: decision.effects, state });
      } catch (error) {
        pending.reject(error);
      }
    });
  }
}

function laterRevision(next: GroupMetadata, base: GroupMetadata): StoreRevision {
  const counted = countNext(base.storeRevision);
  return next.storeRevision > counted ? next.storeRevision : counted;
}

function committedState({ loaded, decided }: Intent, { next }: GroupCommit): GroupState {
  return { metadata: next === 'UNCHANGED' ? loaded.metadata : next, leases: decided.state.leases };
}

/** The leases, as loaded, on which the end of a tenure was decided. */
function expectedLeases(
  loaded: GroupState,
  endedTenures: ReadonlySet<MemberId>,
): ReadonlyMap<MemberId, EpochMillis> {
  const expected = new Map<MemberId, EpochMillis>();
  for (const memberId of endedTenures) {
    const deadlineMs = loaded.leases.get(memberId);
    if (deadlineMs !== undefined) expected.set(memberId, deadlineMs);
  }
  return expected;
}
