import type { Decision, MemberReport } from '../domain/coordinator/decision';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey, MemberId } from '../domain/ids';
import type { MetadataStore, RenewalOutcome } from '../store/metadata-store';
import type { ClockGuard } from './clock-guard';
import type { ConfirmedGroups } from './confirmed-groups';
import type { DecisionContexts } from './decision-contexts';
import type { PendingCommand } from './pending-command';
import type { Clock } from './runtime-ports';
import { CoordinatorTerminatingError, SectionQueueFullError } from './section-errors';
import type { SectionMetrics } from './section-metrics';
import type { ShutdownGate } from './shutdown-gate';

export interface FastPathParts {
  readonly store: MetadataStore;
  readonly confirmed: ConfirmedGroups;
  readonly contexts: DecisionContexts;
  readonly clockGuard: ClockGuard;
  readonly gate: ShutdownGate;
  readonly clock: Clock;
  readonly metrics: SectionMetrics;
  readonly leaseTtlMs: number;
  readonly maxBatch: number;
  readonly maxQueuedPerGroup: number;
  /** Milliseconds; 0: nothing is gathered. */
  readonly gatherMs: number;
  /** Runs the command in a section after all. Must not throw. */
  readonly fallBack: (key: GroupKey, pending: PendingCommand) => void;
}

interface Renewal {
  readonly pending: PendingCommand;
  readonly memberId: MemberId;
  readonly report: MemberReport;
  readonly decision: Decision<unknown>;
  /** The confirmed value on which it was decided: valid only if Redis still holds exactly this one. */
  readonly base: GroupMetadata;
}

/** After a call of a group the next one goes out once so many heartbeats wait for it, or after `gatherMs`. */
const GATHER_COUNT = 5;

interface GroupRenewals {
  readonly key: GroupKey;
  readonly text: string;
  queued: Renewal[];
  inFlight: readonly Renewal[];
  isScheduled: boolean;
  /** Ends the gathering that follows a call; null when there is none. */
  cancelGathering: (() => void) | null;
}

/**
 * Heartbeats that change nothing but their member's lease: decided on the last confirmed value, and answered when one script
 * has found Redis still holding that value and renewed the leases. One call per group is under way at a time; what comes
 * meanwhile shares the next one, and so does what arrives in one turn of the event loop.
 * The first heartbeat after a rest is sent at once. Right behind a call a few are gathered first: a group under load then
 * costs Redis one call for several heartbeats, and each of them a few milliseconds of an interval of seconds.
 * A group has an entry in `groups` while something of it is queued, scheduled, in flight or gathered.
 */
export class LeaseFastPath {
  private readonly groups = new Map<string, GroupRenewals>();

  constructor(private readonly parts: FastPathParts) {}

  /** Takes the heartbeat if nothing but its lease changes; false: it needs a section. @throws SectionQueueFullError */
  tryRenew(key: GroupKey, text: string, memberId: MemberId, pending: PendingCommand): boolean {
    const renewal = this.decide(text, memberId, pending);
    if (renewal === null) return false;
    const group = this.groupOf(key, text);
    if (group.queued.length >= this.parts.maxQueuedPerGroup) {
      this.parts.metrics.queueFull();
      throw new SectionQueueFullError('GROUP');
    }
    group.queued.push(renewal);
    this.schedule(group);
    return true;
  }

  /** Refuses what has not been sent yet. */
  refuseQueued(error: unknown): void {
    for (const group of this.groups.values()) this.rejectQueued(group, error);
  }

  /** Refuses also what was sent: whether it renewed anything stays open. */
  abandonAll(error: unknown): void {
    this.refuseQueued(error);
    for (const group of this.groups.values()) for (const { pending } of group.inFlight) pending.reject(error);
  }

  private decide(text: string, memberId: MemberId, pending: PendingCommand): Renewal | null {
    const { confirmed, clockGuard, contexts, metrics } = this.parts;
    const known = confirmed.get(text);
    const estimateMs = clockGuard.estimateMs();
    if (known === undefined || known.isStale || estimateMs === null) {
      metrics.fastPathMiss('UNKNOWN_GROUP');
      return null;
    }
    const base = known.metadata;
    // Redis is asked for all of it when the lease is renewed: whether this is what it holds, and whether it still is the same.
    const context = contexts.contextFor(base, estimateMs, base.redisId, base);
    const decision = decideQuietly(pending, known, context);
    const report = decision === null ? null : renewalReport(decision, base, memberId);
    if (decision === null || report === null) {
      metrics.fastPathMiss('CHANGES');
      return null;
    }
    return { pending, memberId, report, decision, base };
  }

  private groupOf(key: GroupKey, text: string): GroupRenewals {
    const known = this.groups.get(text);
    if (known !== undefined) return known;
    const group: GroupRenewals = {
      ...{ key, text, queued: [], inFlight: [] },
      ...{ isScheduled: false, cancelGathering: null },
    };
    this.groups.set(text, group);
    return group;
  }

  private schedule(group: GroupRenewals): void {
    if (group.isScheduled || group.inFlight.length > 0) return;
    if (group.cancelGathering !== null && group.queued.length < GATHER_COUNT) return;
    group.cancelGathering?.();
    group.cancelGathering = null;
    group.isScheduled = true;
    this.parts.clock.soon(() => {
      group.isScheduled = false;
      this.flush(group);
    });
  }

  private flush(group: GroupRenewals): void {
    const batch = this.takeBatch(group);
    const base = batch[0]?.base;
    if (base === undefined) {
      this.settleGroup(group);
      return;
    }
    if (this.parts.gate.isClosed) {
      for (const { pending } of batch) pending.reject(new CoordinatorTerminatingError());
      this.settleGroup(group);
      return;
    }
    this.parts.gate.hold();
    group.inFlight = batch;
    const reports = new Map(batch.map(({ memberId, report }) => [memberId, report]));
    this.parts.store
      .renewLeases(group.key, { base, leaseTtlMs: this.parts.leaseTtlMs, reports })
      .then((outcome) => this.answer(group, batch, base, outcome))
      .catch((error: unknown) => {
        for (const { pending } of batch) pending.reject(error);
        // They would wait for the same fault, one deadline after another.
        this.rejectQueued(group, error);
      })
      .finally(() => {
        group.inFlight = [];
        this.parts.gate.release();
        this.settleGroup(group);
      });
  }

  /** What may share one call: at most a batch, all decided on the value that is confirmed now. The others need a section. */
  private takeBatch(group: GroupRenewals): readonly Renewal[] {
    const known = this.parts.confirmed.get(group.text);
    const taken = group.queued.splice(0, this.parts.maxBatch);
    if (known !== undefined && !known.isStale && taken.every(({ base }) => base === known.metadata))
      return taken;
    const batch: Renewal[] = [];
    for (const renewal of taken) {
      if (known !== undefined && !known.isStale && renewal.base === known.metadata) batch.push(renewal);
      else this.fallBack(group, renewal, 'STALE');
    }
    return batch;
  }

  private answer(
    group: GroupRenewals,
    batch: readonly Renewal[],
    base: GroupMetadata,
    outcome: RenewalOutcome,
  ): void {
    const { confirmed, metrics } = this.parts;
    if (outcome.kind === 'STALE') {
      confirmed.markStale(group.text, base);
      for (const renewal of batch) this.fallBack(group, renewal, 'STALE');
      return;
    }
    confirmed.renewed(group.text, base, outcome.renewed);
    const leases = confirmed.get(group.text)?.leases ?? outcome.renewed;
    const state = { metadata: base, leases };
    let hits = 0;
    for (const renewal of batch) {
      if (!outcome.renewed.has(renewal.memberId)) {
        this.fallBack(group, renewal, 'LEASE_OVER');
        continue;
      }
      hits += 1;
      const { decision, pending } = renewal;
      try {
        pending.resolve({ reply: decision.reply(state), effects: decision.effects, state });
      } catch (error) {
        pending.reject(error);
      }
    }
    metrics.fastPathHit(hits);
  }

  private fallBack(group: GroupRenewals, { pending }: Renewal, reason: 'STALE' | 'LEASE_OVER'): void {
    this.parts.metrics.fastPathMiss(reason);
    this.parts.fallBack(group.key, pending);
  }

  private rejectQueued(group: GroupRenewals, error: unknown): void {
    const queued = group.queued;
    group.queued = [];
    for (const { pending } of queued) pending.reject(error);
  }

  /** After a call, or when there was nothing to send. */
  private settleGroup(group: GroupRenewals): void {
    if (group.inFlight.length > 0 || group.isScheduled || group.cancelGathering !== null) return;
    const { clock, gatherMs } = this.parts;
    const goOn = (): void => {
      group.cancelGathering = null;
      if (group.queued.length > 0) this.schedule(group);
      else this.groups.delete(group.text);
    };
    if (gatherMs === 0) {
      goOn();
      return;
    }
    group.cancelGathering = clock.schedule(gatherMs, goOn);
    if (group.queued.length > 0) this.schedule(group);
  }
}

function decideQuietly(
  { command }: PendingCommand,
  state: Parameters<PendingCommand['command']['decide']>[0],
  context: Parameters<PendingCommand['command']['decide']>[1],
): Decision<unknown> | null {
  try {
    return command.decide(state, context);
  } catch {
    return null; // the section decides it again, and answers with the error
  }
}

/** The member's report if the decision is nothing but the renewal of its lease; else null. */
function renewalReport(
  decision: Decision<unknown>,
  base: GroupMetadata,
  memberId: MemberId,
): MemberReport | null {
  if (decision.metadata !== base || decision.effects.length > 0 || decision.endedTenures.length > 0)
    return null;
  if (decision.leaseChanges.size !== 1 || decision.reports.size !== 1) return null;
  const deadlineMs = decision.leaseChanges.get(memberId);
  if (deadlineMs === undefined || deadlineMs === null) return null;
  return decision.reports.get(memberId) ?? null;
}
