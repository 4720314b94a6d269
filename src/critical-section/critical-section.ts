import type { GroupCommand } from '../domain/coordinator/decision';
import type { GroupKey } from '../domain/ids';
import { groupKeyText } from '../domain/ids';
import type { LeaseFastPath } from './lease-fast-path';
import type { LocalMutex } from './local-mutex';
import { PendingCommand } from './pending-command';
import { CoordinatorTerminatingError, SectionQueueFullError } from './section-errors';
import type { SectionMetrics } from './section-metrics';
import type { CommandOptions, SectionResult } from './section-request';
import type { ShutdownGate } from './shutdown-gate';

export interface CriticalSectionParts {
  readonly gate: ShutdownGate;
  readonly mutex: LocalMutex<PendingCommand>;
  readonly fastPath: LeaseFastPath;
  readonly metrics: SectionMetrics;
}

/**
 * The single door through which groups change: the gate, then either the lease fast path or the group's queue, whose next
 * section decides everything in it on one loaded value and records it in one write.
 */
export class CriticalSection {
  /** In the queue or in a section: what is answered when termination runs out of time. */
  private readonly underWay = new Set<PendingCommand>();

  constructor(private readonly parts: CriticalSectionParts) {
    parts.gate.onClose(() => {
      const error = new CoordinatorTerminatingError();
      parts.mutex.refuseQueued(error);
      parts.fastPath.refuseQueued(error);
    });
  }

  /**
   * Runs the command on the group, and resolves once its outcome is recorded. The effects are the caller's to carry out.
   * @throws CoordinatorTerminatingError, SectionQueueFullError, LockTimeoutError, StateConflictError, MetadataCorruptError,
   * MetadataSchemaUnsupportedError, InvariantViolationError, StoreError, and whatever the command's `decide` threw. After a
   * StoreError its write may have happened; after the others it has not.
   */
  run<Reply>(
    key: GroupKey,
    command: GroupCommand<Reply>,
    options: CommandOptions = {},
  ): Promise<SectionResult<Reply>> {
    if (this.parts.gate.isClosed) return Promise.reject(new CoordinatorTerminatingError());
    const pending = new PendingCommand(command, options);
    try {
      const isTaken =
        command.renews !== undefined &&
        this.parts.fastPath.tryRenew(key, groupKeyText(key), command.renews, pending);
      if (!isTaken) this.runInSection(key, pending);
    } catch (error) {
      pending.reject(error);
    }
    // The reply is of the command that was handed in: only its type was forgotten on the way.
    return pending.promise as Promise<SectionResult<Reply>>;
  }

  /** Queues a command that the fast path could not answer, or did not take. Never throws. */
  runInSection(key: GroupKey, pending: PendingCommand): void {
    const { gate, mutex, metrics } = this.parts;
    try {
      gate.enter();
    } catch (error) {
      pending.reject(error);
      return;
    }
    this.underWay.add(pending);
    const leave = (): void => {
      this.underWay.delete(pending);
      gate.leave();
    };
    pending.promise.then(leave, leave);
    try {
      mutex.submit(key, pending);
    } catch (error) {
      if (error instanceof SectionQueueFullError) metrics.queueFull();
      pending.reject(error);
    }
  }

  /**
   * Closes the gate, waits at most `graceMs` for what holds a lock, and answers everybody. Resolves to whether all finished;
   * those that did not (Redis frozen) are refused: whether their write happened is told by the next load.
   */
  async terminate(graceMs: number): Promise<boolean> {
    const { gate, fastPath } = this.parts;
    gate.close();
    const isDrained = await gate.drained(graceMs);
    if (!isDrained) {
      const error = new CoordinatorTerminatingError();
      for (const pending of [...this.underWay]) pending.reject(error);
      fastPath.abandonAll(error);
    }
    return isDrained;
  }
}
