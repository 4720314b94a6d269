import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { CriticalSection } from './critical-section';

/**
 * Ends the critical section before the server stops listening: readiness follows the gate, long polls and waiters are
 * answered at once, sections that hold a lock finish, within the grace period even when Redis does not answer any more.
 */
export class SectionTermination implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Termination');

  constructor(
    private readonly section: Pick<CriticalSection, 'terminate'>,
    private readonly metrics: { terminating(isTerminating: boolean): void },
    private readonly graceMs: number,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    this.metrics.terminating(true);
    const isDrained = await this.section.terminate(this.graceMs);
    if (!isDrained) {
      const message = 'sections were still waiting for Redis at the end of the grace period';
      this.logger.warn({ message, graceMs: this.graceMs });
    }
  }
}
