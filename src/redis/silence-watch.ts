import type { Redis } from 'ioredis';

/** A connection that answers nothing for so many command timeouts is replaced. */
const SILENT_COMMAND_TIMEOUTS = 2;

/**
 * Replaces a connection on which nothing is answered any more: its other end may be gone without a word. The driver's own
 * watch (socketTimeout) is not used: its timer outlives the connection that it watched, and ends the next one.
 */
export class SilenceWatch {
  private answeredAtMs: number;

  constructor(
    private readonly client: Redis,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.answeredAtMs = nowMs();
    client.on('ready', () => this.answered());
  }

  answered(): void {
    this.answeredAtMs = this.nowMs();
  }

  /** A command had no answer in time. */
  missed(): void {
    const { commandTimeout = 0 } = this.client.options;
    const isSilent = this.nowMs() - this.answeredAtMs >= SILENT_COMMAND_TIMEOUTS * commandTimeout;
    if (!isSilent || this.client.status !== 'ready') return;
    this.answered(); // once per connection
    this.client.disconnect(true);
  }
}
