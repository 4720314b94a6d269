import { GroupDraft } from '../group/group-draft';
import type { GroupMetadata, Leases } from '../group/group-metadata';
import type { MemberId } from '../ids';
import type { EpochMillis } from '../time';
import { deadlineAfter, durationMs, isOver } from '../time';
import type { Decision, DecisionContext, Effect, GroupState, MemberReport } from './decision';

/**
 * What one command does to a group while it is decided: the draft of the aggregate, and what changes beside it. The steps under
 * membership/ and assignment/ work on this; the doors turn it into a `Decision`.
 */
export class Transition {
  readonly draft: GroupDraft;
  private readonly leaseChanges = new Map<MemberId, EpochMillis | null>();
  private readonly endedTenures: MemberId[] = [];
  private readonly reports = new Map<MemberId, MemberReport | null>();
  private readonly effects: Effect[] = [];

  constructor(
    metadata: GroupMetadata,
    readonly leases: Leases,
    readonly context: DecisionContext,
  ) {
    this.draft = new GroupDraft(metadata, context);
  }

  /** False in a quiet period, to which the first lease of a correction round belongs: no deadline proves anything then. */
  get mayEndTenures(): boolean {
    const { correction } = this.draft;
    return this.context.mayEndTenures && (correction === null || this.isLeaseAfter(correction.startedAtMs));
  }

  /** False while this coordinator, or in a round Redis itself, may not know who reads. */
  get mayGrant(): boolean {
    return this.context.mayGrant && this.draft.correction === null;
  }

  /** Whether one member lease has passed since then. */
  isLeaseAfter(startMs: EpochMillis): boolean {
    const { nowMs, timing } = this.context;
    return isOver(deadlineAfter(startMs, durationMs(timing.memberLeaseTtlMs)), nowMs);
  }

  leaseOf(memberId: MemberId): EpochMillis | undefined {
    const changed = this.leaseChanges.get(memberId);
    return changed === undefined ? this.leases.get(memberId) : (changed ?? undefined);
  }

  renewLease(memberId: MemberId): void {
    const { nowMs, timing } = this.context;
    this.leaseChanges.set(memberId, deadlineAfter(nowMs, durationMs(timing.memberLeaseTtlMs)));
  }

  removeLease(memberId: MemberId): void {
    this.leaseChanges.set(memberId, null);
  }

  /** The tenure is over by this write: it must not commit if a renewal moved the lease on which this was decided. */
  endTenure(memberId: MemberId): void {
    this.endedTenures.push(memberId);
    this.removeLease(memberId);
  }

  report(memberId: MemberId, report: MemberReport | null): void {
    this.reports.set(memberId, report);
  }

  request(effect: Effect): void {
    this.effects.push(effect);
  }

  decide<Reply>(reply: (committed: GroupState) => Reply): Decision<Reply> {
    return {
      metadata: this.draft.finish(),
      leaseChanges: this.leaseChanges,
      endedTenures: this.endedTenures,
      reports: this.reports,
      effects: this.effects,
      reply,
    };
  }
}

/** A decision that changes nothing. */
export function unchanged<Reply>(
  state: GroupState,
  reply: (committed: GroupState) => Reply,
): Decision<Reply> {
  return {
    metadata: state.metadata,
    leaseChanges: new Map(),
    endedTenures: [],
    reports: new Map(),
    effects: [],
    reply,
  };
}
