import { lacksWrite } from '../domain/correction/evidence';
import type { GroupState } from '../domain/coordinator/decision';
import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import type { MemberId } from '../domain/ids';
import type { EpochMillis } from '../domain/time';

/** Groups that are remembered at most, and their shards and members together: what bounds the memory. */
export interface ConfirmedGroupsBounds {
  readonly maxGroups: number;
  readonly maxWeight: number;
}

export const CONFIRMED_GROUPS_BOUNDS: ConfirmedGroupsBounds = { maxGroups: 20_000, maxWeight: 2_000_000 };

/** A group as Redis last confirmed it to this process. Valid only where a script compares it, or as a hint. */
export interface ConfirmedGroup {
  readonly metadata: GroupMetadata;
  /** Moves on with renewals that this process sent; others' are missing until the next load. */
  readonly leases: Leases;
  /** The index holds no later due time than this one, unless it is over: then others may have moved it. null: unknown. */
  readonly indexedDueMs: EpochMillis | null;
  /** A script said that Redis holds another value by now. */
  readonly isStale: boolean;
}

interface Entry extends ConfirmedGroup {
  metadata: GroupMetadata;
  leases: Leases;
  /** The same map as `leases` once it is this cache's own, so that renewals can be entered without a copy each. */
  ownLeases: Map<MemberId, EpochMillis> | null;
  indexedDueMs: EpochMillis | null;
  isStale: boolean;
  weight: number;
}

/** Bounded memory of what Redis confirmed; the least recently used is forgotten first. By group key text. */
export class ConfirmedGroups {
  private readonly entries = new Map<string, Entry>();
  private weight = 0;

  constructor(private readonly bounds: ConfirmedGroupsBounds = CONFIRMED_GROUPS_BOUNDS) {}

  get size(): number {
    return this.entries.size;
  }

  get(text: string): ConfirmedGroup | undefined {
    return this.entries.get(text);
  }

  /**
   * As read or written under the group's lock: it replaces what is remembered, even a higher revision.
   * `indexedDueMs`: what was just written to the index, null when it was left alone.
   */
  confirmLocked(text: string, state: GroupState, indexedDueMs: EpochMillis | null): void {
    if (state.metadata === null) this.drop(text);
    else this.put(text, state.metadata, state.leases);
    if (indexedDueMs !== null) this.setIndexedDue(text, indexedDueMs);
  }

  /**
   * As read without the lock: an answer that was overtaken replaces nothing, nor does another write of the same revision: that
   * one betrays that Redis lost writes, which only a section can record.
   */
  confirmRead(text: string, state: GroupState): void {
    const known = this.entries.get(text);
    if (state.metadata === null) {
      // The key was missing at some moment; what is remembered may be younger, but then a script finds out.
      if (known !== undefined) known.isStale = true;
      return;
    }
    if (known !== undefined && lacksWrite(state.metadata, known.metadata)) return;
    this.put(text, state.metadata, state.leases);
  }

  /** Enters renewed leases, if the group is still remembered as it was when they were asked for. */
  renewed(text: string, base: GroupMetadata, renewed: Leases): void {
    const entry = this.entries.get(text);
    if (entry?.metadata !== base) return;
    entry.ownLeases ??= new Map(entry.leases);
    entry.leases = entry.ownLeases;
    for (const [memberId, deadlineMs] of renewed) entry.ownLeases.set(memberId, deadlineMs);
    this.touch(text, entry);
  }

  markStale(text: string, base: GroupMetadata): void {
    const entry = this.entries.get(text);
    if (entry?.metadata === base) entry.isStale = true;
  }

  setIndexedDue(text: string, dueMs: EpochMillis): void {
    const entry = this.entries.get(text);
    if (entry !== undefined) entry.indexedDueMs = dueMs;
  }

  drop(text: string): void {
    const entry = this.entries.get(text);
    if (entry === undefined) return;
    this.weight -= entry.weight;
    this.entries.delete(text);
  }

  private put(text: string, metadata: GroupMetadata, leases: Leases): void {
    const known = this.entries.get(text);
    const weight = metadata.shards.length + metadata.members.size + 1;
    // What is known of the index belongs to one life of the group.
    const isSameLife = known?.metadata.incarnation === metadata.incarnation;
    const indexedDueMs = known !== undefined && isSameLife ? known.indexedDueMs : null;
    this.drop(text);
    this.entries.set(text, { metadata, leases, ownLeases: null, indexedDueMs, isStale: false, weight });
    this.weight += weight;
    this.evict();
  }

  private touch(text: string, entry: Entry): void {
    this.entries.delete(text);
    this.entries.set(text, entry);
  }

  private evict(): void {
    for (const text of this.entries.keys()) {
      const isWithin = this.entries.size <= this.bounds.maxGroups && this.weight <= this.bounds.maxWeight;
      if (isWithin || this.entries.size === 1) return;
      this.drop(text);
    }
  }
}
