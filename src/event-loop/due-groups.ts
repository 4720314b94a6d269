import type { GroupCommand } from '../domain/coordinator/decision';
import type { TickReply } from '../domain/coordinator/on-tick';
import { groupKeyText } from '../domain/ids';
import type { CoordinationTiming, EpochMillis } from '../domain/time';
import type { ConfirmedGroups } from '../critical-section/confirmed-groups';
import type { CriticalSection } from '../critical-section/critical-section';
import type { EffectRunner } from '../critical-section/effects';
import { isConnectionFault } from '../critical-section/observed-store';
import {
  CoordinatorTerminatingError,
  MetadataCorruptError,
  MetadataSchemaUnsupportedError,
} from '../critical-section/section-errors';
import type { FaultReporter } from '../critical-section/section-metrics';
import type { GroupIndex, LoopPass } from '../store/group-index';
import { StoreError } from '../store/metadata-store';
import type { LookObserver, LoopMetrics } from './loop-metrics';

/** Groups that are looked at side by side. */
const CONCURRENCY = 8;
/** A group that could not be looked at is tried again after this many ticks; the others are not held up by it. */
const FAILED_GROUP_TICKS = 2;

export type DueGroup = LoopPass['due'][number];

export interface DueGroupsParts {
  readonly section: Pick<CriticalSection, 'run'>;
  readonly effects: Pick<EffectRunner, 'carryOut'>;
  readonly index: Pick<GroupIndex, 'postpone'>;
  readonly confirmed: Pick<ConfirmedGroups, 'setIndexedDue'>;
  readonly timing: CoordinationTiming;
  readonly faults: FaultReporter;
  readonly metrics: Pick<LoopMetrics, 'loopGroupFailed' | 'loopGroupMissing'>;
  readonly looks?: LookObserver;
  /** The look itself. */
  readonly tickCommand: () => GroupCommand<TickReply>;
}

/** The work of one pass: looks at each due group through its critical section, and notes when to look again. */
export class DueGroups {
  constructor(private readonly parts: DueGroupsParts) {}

  /** Ends early when Redis cannot be asked, or at termination: what was not looked at stays due. Never rejects. */
  async lookAt(due: readonly DueGroup[], passedAtMs: EpochMillis): Promise<void> {
    const rest = due.values();
    let isCutShort = false;
    const worker = async (): Promise<void> => {
      for (const group of rest) {
        if (isCutShort) return;
        isCutShort = !(await this.lookAtOne(group, passedAtMs)) || isCutShort;
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, due.length) }, worker));
  }

  /** @returns false when the others would fail in the same way. */
  private async lookAtOne(group: DueGroup, passedAtMs: EpochMillis): Promise<boolean> {
    const { section, effects, timing, tickCommand } = this.parts;
    try {
      const result = await section.run(group.key, tickCommand(), { removesPhantom: true });
      const text = groupKeyText(group.key);
      this.parts.looks?.groupLooked(text, result.state, passedAtMs, timing);
      if (result.reply.kind === 'MISSING') {
        this.noteMissing(text);
        return true;
      }
      await effects.carryOut(group.key, result);
      const sweepMs = passedAtMs + timing.memberLeaseTtlMs;
      await this.postpone(group, Math.min(result.reply.nextDueMs, sweepMs) as EpochMillis);
      return true;
    } catch (error) {
      return this.failed(group, passedAtMs, error);
    }
  }

  /** A deletion takes its group out of the index: one that is still there was lost, or its deletion was cut short. */
  private noteMissing(group: string): void {
    this.parts.metrics.loopGroupMissing();
    this.parts.faults.report('event-loop:METADATA_MISSING', 'error', {
      group,
      reason:
        'the index names a group whose metadata is gone; it is taken out, and not rebuilt (docs/operations.md)',
    });
  }

  private async postpone({ key, dueMs }: DueGroup, nextMs: EpochMillis): Promise<void> {
    await this.parts.index.postpone(key, dueMs, nextMs);
    this.parts.confirmed.setIndexedDue(groupKeyText(key), nextMs);
  }

  private async failed(group: DueGroup, passedAtMs: EpochMillis, error: unknown): Promise<boolean> {
    if (error instanceof CoordinatorTerminatingError) return false;
    const { metrics, faults, timing } = this.parts;
    const code = codeOf(error);
    metrics.loopGroupFailed(code);
    this.noteUnreadable(groupKeyText(group.key), error);
    faults.report(`event-loop:${code}`, code === UNEXPECTED ? 'error' : 'warn', {
      group: groupKeyText(group.key),
      reason: error instanceof Error ? error.message : String(error),
      ...(code === UNEXPECTED && error instanceof Error ? { stack: error.stack } : {}),
    });
    if (error instanceof StoreError && isConnectionFault(error.fault)) return false;
    const nextMs = (passedAtMs + FAILED_GROUP_TICKS * timing.tickIntervalMs) as EpochMillis;
    // If this fails too, the group stays due, which is no worse.
    await this.parts.index.postpone(group.key, group.dueMs, nextMs).catch(() => undefined);
    return true;
  }

  private noteUnreadable(text: string, error: unknown): void {
    const { looks, timing } = this.parts;
    if (error instanceof MetadataCorruptError) looks?.groupUnreadable(text, 'CORRUPT', timing);
    else if (error instanceof MetadataSchemaUnsupportedError)
      looks?.groupUnreadable(text, 'SCHEMA_UNSUPPORTED', timing);
  }
}

const UNEXPECTED = 'INTERNAL_ERROR';

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : UNEXPECTED;
}
