import { InvariantViolationError } from '../domain/assert';
import type {
  Decision,
  DecisionContext,
  GroupCommand,
  GroupState,
  MemberReport,
} from '../domain/coordinator/decision';
import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import type { MemberId } from '../domain/ids';
import type { CoordinationTiming, EpochMillis } from '../domain/time';

/** The domain's rules over a whole group that the section applies to what was decided. */
export interface GroupRules {
  findViolations(metadata: GroupMetadata, leases: Leases): readonly string[];
  /** When the event loop must next look at the group. */
  nextDueMs(
    metadata: GroupMetadata,
    leases: Leases,
    timing: CoordinationTiming,
    nowMs: EpochMillis,
  ): EpochMillis;
}

export type CommandOutcome =
  | { readonly kind: 'DECIDED'; readonly decision: Decision<unknown>; readonly isChange: boolean }
  | { readonly kind: 'FAILED'; readonly error: unknown };

export interface BatchDecision {
  /** What to record: the commands that did not fail, in order, each on the outcome of the one before. */
  readonly state: GroupState;
  readonly leaseChanges: ReadonlyMap<MemberId, EpochMillis | null>;
  readonly reports: ReadonlyMap<MemberId, MemberReport | null>;
  readonly endedTenures: ReadonlySet<MemberId>;
  /** One per command, as far as the batch went. */
  readonly outcomes: readonly CommandOutcome[];
}

/**
 * Decides commands in order on one loaded group. The batch ends early around a command that creates or deletes the group: it
 * is decided alone, so that no reply is derived from another life of the group than the one it was decided on.
 * A command fails alone: when it throws, or when what it decides breaks an invariant.
 */
export function decideBatch(
  loaded: GroupState,
  commands: readonly GroupCommand<unknown>[],
  context: DecisionContext,
  rules: Pick<GroupRules, 'findViolations'>,
): BatchDecision {
  const optimistic = decideAll(loaded, commands, context, null);
  if (findStateViolations(optimistic.state, loaded, rules).length === 0) return optimistic;
  // Rare: somebody broke an invariant. Check after each command, to find out who, and go on without.
  return decideAll(loaded, commands, context, rules);
}

function findStateViolations(
  state: GroupState,
  before: GroupState,
  rules: Pick<GroupRules, 'findViolations'>,
): readonly string[] {
  const isUntouched = state.metadata === before.metadata && state.leases === before.leases;
  return state.metadata === null || isUntouched ? [] : rules.findViolations(state.metadata, state.leases);
}

function decideAll(
  loaded: GroupState,
  commands: readonly GroupCommand<unknown>[],
  context: DecisionContext,
  checkEach: Pick<GroupRules, 'findViolations'> | null,
): BatchDecision {
  const working = new WorkingGroup(loaded);
  const outcomes: CommandOutcome[] = [];
  for (const command of commands) {
    const outcome = decideOne(working, command, context, checkEach);
    const isExistenceMoved =
      outcome.kind === 'DECIDED' &&
      (outcome.decision.metadata === null) !== (working.state.metadata === null);
    if (isExistenceMoved && outcomes.length > 0) break;
    if (outcome.kind === 'DECIDED') working.apply(outcome.decision);
    outcomes.push(outcome);
    if (isExistenceMoved) break;
  }
  return { ...working.changes, state: working.state, outcomes };
}

function decideOne(
  working: WorkingGroup,
  command: GroupCommand<unknown>,
  context: DecisionContext,
  checkEach: Pick<GroupRules, 'findViolations'> | null,
): CommandOutcome {
  try {
    const decision = command.decide(working.state, context);
    if (checkEach !== null) {
      const violations = findStateViolations(working.after(decision), working.state, checkEach);
      if (violations.length > 0) {
        throw new InvariantViolationError(`${command.name} would record: ${violations.join('; ')}`);
      }
    }
    return { kind: 'DECIDED', decision, isChange: isChange(decision, working.state) };
  } catch (error) {
    return { kind: 'FAILED', error };
  }
}

function isChange(decision: Decision<unknown>, state: GroupState): boolean {
  return decision.metadata !== state.metadata || decision.leaseChanges.size > 0 || decision.reports.size > 0;
}

/** The group while a batch is decided. Its lease map is one copy for the whole batch, changed in place between decisions. */
class WorkingGroup {
  state: GroupState;
  readonly changes = {
    leaseChanges: new Map<MemberId, EpochMillis | null>(),
    reports: new Map<MemberId, MemberReport | null>(),
    endedTenures: new Set<MemberId>(),
  };
  private ownLeases: Map<MemberId, EpochMillis> | null = null;

  constructor(loaded: GroupState) {
    this.state = loaded;
  }

  /** What `apply` would make of the state, without doing it. */
  after(decision: Decision<unknown>): GroupState {
    if (decision.leaseChanges.size === 0) return { metadata: decision.metadata, leases: this.state.leases };
    return { metadata: decision.metadata, leases: changeLeases(new Map(this.state.leases), decision) };
  }

  apply(decision: Decision<unknown>): void {
    const { leaseChanges, reports, endedTenures } = this.changes;
    for (const memberId of decision.endedTenures) endedTenures.add(memberId);
    if (decision.metadata === null) {
      if (this.state.metadata !== null) this.state = { metadata: null, leases: new Map() };
      return;
    }
    for (const [memberId, deadlineMs] of decision.leaseChanges) leaseChanges.set(memberId, deadlineMs);
    for (const [memberId, report] of decision.reports) reports.set(memberId, report);
    let leases = this.state.leases;
    if (decision.leaseChanges.size > 0) {
      this.ownLeases ??= new Map(leases);
      leases = changeLeases(this.ownLeases, decision);
    }
    if (decision.metadata !== this.state.metadata || leases !== this.state.leases) {
      this.state = { metadata: decision.metadata, leases };
    }
  }
}

function changeLeases(
  leases: Map<MemberId, EpochMillis>,
  decision: Decision<unknown>,
): Map<MemberId, EpochMillis> {
  for (const [memberId, deadlineMs] of decision.leaseChanges) {
    if (deadlineMs === null) leases.delete(memberId);
    else leases.set(memberId, deadlineMs);
  }
  return leases;
}
