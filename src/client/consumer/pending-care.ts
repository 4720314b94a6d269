import { redisFaultOf } from '../redis/redis-faults';
import type { WorkerEnvironment } from './worker-environment';

/**
 * Housekeeping in the Redis group of one shard, under one tenure's consumer name. Nothing depends on it for order or for
 * delivery, so that trouble is reported and otherwise passed over.
 */
export class PendingCare {
  constructor(
    private readonly environment: WorkerEnvironment,
    private readonly streamKey: string,
  ) {}

  /** After an orderly drain: what was never tried does not count as tried, and the consumer name goes if it is empty. */
  async leaveTidy(untried: readonly string[]): Promise<void> {
    const { commands, consumer } = this.environment;
    await this.careful(async () => {
      if (untried.length > 0) await commands.setDeliveries(this.streamKey, consumer, untried, 0);
      else await commands.removeConsumer(this.streamKey, consumer);
    });
  }

  /** A shard has one reader: every other name is a former owner's, and goes once nothing is pending under it. */
  async removeFormerConsumers(): Promise<void> {
    const { commands, consumer, mayWork } = this.environment;
    await this.careful(async () => {
      for (const name of await commands.idleConsumers(this.streamKey)) {
        if (name !== consumer && mayWork()) await commands.removeConsumer(this.streamKey, name);
      }
    });
  }

  /** Whether entries are pending under another name: a read that was under way when its lease ended took them. */
  async hasStrangers(): Promise<boolean> {
    const pending = await this.environment.commands.pendingByConsumer(this.streamKey);
    return [...pending.keys()].some((name) => name !== this.environment.consumer);
  }

  private async careful(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (redisFaultOf(error) !== 'NOGROUP') this.environment.faults.report('CLEANUP', error);
    }
  }
}
