import type { PendingCare } from './pending-care';

/**
 * The end of a shard worker, once nothing of it runs: tidies up after an orderly drain, then tells that the shard has stopped,
 * once. States: not begun, under way, told.
 */
export class ShardEnding {
  hasBegun = false;
  /** Delivered to this consumer and never tried: after a drain that delivery does not count. */
  private readonly untried: string[] = [];

  constructor(
    private readonly care: PendingCare,
    private readonly onStopped: () => void,
  ) {}

  leavesUntried(ids: readonly string[]): void {
    for (const id of ids) this.untried.push(id);
  }

  begin(isOrderly: boolean): void {
    this.hasBegun = true;
    const tidied = isOrderly ? this.care.leaveTidy(this.untried) : Promise.resolve();
    tidied.then(this.onStopped, this.onStopped);
  }
}
