import { deadLetterKey } from '../../domain/routing/shard-keys';
import { redisFaultOf } from '../redis/redis-faults';
import type { Attempt } from './attempt';
import { MessageContext, StreamMessage } from './message';
import { errorText, outcomeOfFailure } from './outcome';
import type { DeadLetterReason } from './outcome';
import type { ShardWorker } from './shard-worker';
import type { WorkerEnvironment } from './worker-environment';

/**
 * Brings one entry of a shard through the handler to its outcome. The usual way, a delivered entry whose handler returns, costs
 * no promise and no round trip; everything else may take its time, as the shard waits for it anyway.
 */
export class AttemptRunner {
  constructor(private readonly environment: WorkerEnvironment) {}

  /** Handles one entry; a promise only if there is something to wait for. */
  run(worker: ShardWorker, attempt: Attempt): Promise<void> | undefined {
    if (attempt.needsClaim || attempt.deadLetter !== null) return this.prepare(worker, attempt);
    return this.handle(worker, attempt);
  }

  private handle(worker: ShardWorker, attempt: Attempt): Promise<void> | undefined {
    const message = new StreamMessage(attempt.id, worker.streamKey, worker.shard, attempt.fields ?? []);
    const context = new MessageContext(worker, attempt.id, attempt.deliveries);
    try {
      const result = this.environment.handling.handler(message, context);
      if (isThenable(result)) return this.settle(worker, attempt, message, context, result);
    } catch (error) {
      return this.failed(worker, attempt, message, context, error);
    }
    this.succeeded(worker, attempt);
    return undefined;
  }

  private async settle(
    worker: ShardWorker,
    attempt: Attempt,
    message: StreamMessage,
    context: MessageContext,
    result: PromiseLike<unknown>,
  ): Promise<void> {
    try {
      await result;
    } catch (error) {
      await this.failed(worker, attempt, message, context, error);
      return;
    }
    this.succeeded(worker, attempt);
  }

  private succeeded(worker: ShardWorker, attempt: Attempt): void {
    if (!worker.isOpen) {
      this.environment.metrics.entries('ack_refused', 1);
      worker.released();
    } else if (this.environment.handling.ackMode === 'manual') {
      worker.leftToApplication(attempt);
    } else {
      worker.completed(attempt);
    }
  }

  private async failed(
    worker: ShardWorker,
    attempt: Attempt,
    message: StreamMessage,
    context: MessageContext,
    error: unknown,
  ): Promise<void> {
    const { handling, metrics } = this.environment;
    if (!worker.acceptsOutcomes || attempt.isAcked) {
      worker.released();
      return;
    }
    const outcome = outcomeOfFailure(error, attempt.deliveries, handling.maxDeliveries);
    switch (outcome.kind) {
      case 'INVALID': {
        const fault = await this.handOverInvalid(message, context, outcome.error);
        if (fault !== null) {
          await this.failed(worker, attempt, message, context, fault.error);
        } else {
          metrics.entries('invalid', 1);
          this.completeIfAccepted(worker, attempt);
        }
        return;
      }
      case 'DEAD_LETTER':
        metrics.entries('failed', 1);
        await this.moveToDeadLetter(worker, attempt, outcome.reason, errorText(error));
        return;
      case 'AGAIN':
        metrics.entries(outcome.isCounted ? 'failed' : 'retryable', 1);
        if (!outcome.isCounted) await this.uncount(worker, attempt);
        worker.tryLater(attempt);
    }
  }

  /** Null when the application took it. What it throws instead decides like a handler's error, but is never "invalid" again. */
  private async handOverInvalid(
    message: StreamMessage,
    context: MessageContext,
    invalid: Parameters<NonNullable<WorkerEnvironment['handling']['onInvalid']>>[2],
  ): Promise<{ readonly error: unknown } | null> {
    try {
      await this.environment.handling.onInvalid?.(message, context, invalid);
      return null;
    } catch (error) {
      const isInvalidAgain = outcomeOfFailure(error, 1, 2).kind === 'INVALID';
      return { error: isInvalidAgain ? new Error(`onInvalid failed: ${errorText(error)}`) : error };
    }
  }

  private completeIfAccepted(worker: ShardWorker, attempt: Attempt): void {
    if (worker.acceptsOutcomes) worker.completed(attempt);
    else worker.released();
  }

  /** Claims an entry that is not this consumer's yet, or moves one on whose fate was decided before. */
  private async prepare(worker: ShardWorker, attempt: Attempt): Promise<void> {
    if (attempt.deadLetter !== null) {
      const { reason, error } = attempt.deadLetter;
      await this.moveToDeadLetter(worker, attempt, reason, error);
      return;
    }
    const { commands, consumer, handling, faults } = this.environment;
    try {
      if (attempt.deliveries >= handling.maxDeliveries) {
        await commands.setDeliveries(worker.streamKey, consumer, [attempt.id], attempt.deliveries);
        const text = `delivered ${attempt.deliveries} times, and no attempt came to an end`;
        await this.moveToDeadLetter(worker, attempt, 'MAX_DELIVERIES', text);
        return;
      }
      attempt.fields = await commands.claim(worker.streamKey, consumer, attempt.id);
      attempt.deliveries += 1;
      if (attempt.fields === null) {
        await this.passOverBodiless(worker, attempt);
        return;
      }
    } catch (error) {
      faults.report(`CLAIM ${redisFaultOf(error)}`, error);
      worker.tryLater(attempt);
      return;
    }
    if (worker.acceptsOutcomes && worker.isActive) await this.handle(worker, attempt);
    else worker.released();
  }

  /** Deleted from the stream while it was pending: acked and counted. Or not pending any more: nothing to do. */
  private async passOverBodiless(worker: ShardWorker, attempt: Attempt): Promise<void> {
    if (await this.environment.commands.exists(worker.streamKey, attempt.id)) {
      worker.released();
      return;
    }
    this.environment.metrics.entries('deleted_pending', 1);
    this.completeIfAccepted(worker, attempt);
  }

  private async moveToDeadLetter(
    worker: ShardWorker,
    attempt: Attempt,
    reason: DeadLetterReason,
    error: string,
  ): Promise<void> {
    const { commands, consumer, faults, metrics, streamPrefix } = this.environment;
    if (!worker.acceptsOutcomes) {
      worker.released();
      return;
    }
    try {
      const result = await commands.moveToDeadLetter({
        streamKey: worker.streamKey,
        deadLetterKey: deadLetterKey(streamPrefix, worker.shard),
        ...{ consumer, id: attempt.id, reason, error, deliveries: attempt.deliveries },
      });
      if (result === 'MOVED') metrics.entries('dead_lettered', 1);
      if (result === 'DELETED') metrics.entries('deleted_pending', 1);
      worker.released();
    } catch (fault) {
      faults.report(`DEAD_LETTER ${redisFaultOf(fault)}`, fault);
      attempt.deadLetter = { reason, error };
      worker.tryLater(attempt);
    }
  }

  /** An attempt that failed for reasons beyond the entry is not one of its deliveries. */
  private async uncount(worker: ShardWorker, attempt: Attempt): Promise<void> {
    const { commands, consumer, faults } = this.environment;
    const deliveries = attempt.deliveries - 1;
    try {
      await commands.setDeliveries(worker.streamKey, consumer, [attempt.id], deliveries);
      attempt.deliveries = deliveries;
    } catch (error) {
      faults.report(`CLAIM ${redisFaultOf(error)}`, error);
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
