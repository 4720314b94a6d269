import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { CriticalSection } from './critical-section';
import type { LateRequests, LullBounds } from './late-requests';

export interface TerminationBounds {
  /** For sections that hold a lock, milliseconds. */
  readonly sectionsMs: number;
  /** For requests that come all the same. */
  readonly lull: LullBounds;
}

/**
 * Ends the critical section before the server stops listening: readiness follows the gate, long polls and waiters are
 * answered at once, sections that hold a lock finish, within the grace period even when Redis does not answer any more. Then
 * it waits for a lull, in which the listener can close.
 */
export class SectionTermination implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Termination');

  constructor(
    private readonly section: Pick<CriticalSection, 'terminate'>,
    private readonly metrics: { terminating(isTerminating: boolean): void },
    private readonly lateRequests: Pick<LateRequests, 'lull'>,
    private readonly bounds: TerminationBounds,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    this.metrics.terminating(true);
    const { sectionsMs, lull } = this.bounds;
    const isDrained = await this.section.terminate(sectionsMs);
    if (!isDrained) {
      const message = 'sections were still waiting for Redis when their share of the grace period was over';
      this.logger.warn({ message, waitedMs: sectionsMs });
    }
    await this.lateRequests.lull(lull);
  }
}
