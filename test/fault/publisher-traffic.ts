import { type StreamPublisher, StreamClientError } from '../../src/client';
import { waitUntil } from '../support/redis-server';
import { pace } from './pace';

/** One publish, on the wall clock. */
export interface Publish {
  readonly n: number;
  readonly sentMs: number;
  readonly endedMs: number;
  /** Its id; null: it failed. */
  readonly id: string | null;
  readonly shard: number | null;
  readonly error: unknown;
}

const PACE_MS = 20;

/** Publishes entry after entry under changing keys, whatever becomes of each, and keeps what became of it. */
export class PublisherTraffic {
  readonly publishes: Publish[] = [];
  private running: Promise<void> | null = null;
  private isStopped = false;

  constructor(
    private readonly publisher: StreamPublisher,
    private readonly firstNumber = 1,
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
  }

  /** Those that began at or after this moment and succeeded. */
  publishedSince(ms: number): readonly Publish[] {
    return this.publishes.filter(({ id, sentMs }) => id !== null && sentMs >= ms);
  }

  get failures(): readonly Publish[] {
    return this.publishes.filter(({ id }) => id === null);
  }

  /** Failures that do not say in the client's own terms that a retry may help. */
  get unexplained(): readonly Publish[] {
    return this.failures.filter(
      ({ error }) => !(error instanceof StreamClientError) || !(error as { retryable?: unknown }).retryable,
    );
  }

  /** Polls until so many more have succeeded, counted from now. */
  async untilPublished(count: number, deadlineMs: number): Promise<void> {
    const fromMs = Date.now();
    await waitUntil(`${count} more are published`, deadlineMs, () => {
      return this.publishedSince(fromMs).length >= count;
    });
  }

  private async run(): Promise<void> {
    for (let n = this.firstNumber; !this.isStopped; n += 1) {
      const sentMs = Date.now();
      const outcome = await this.publisher
        .publish(`key-${n}`, { n: String(n), kind: 'plain', file: '' })
        .then(
          ({ id, shardIndex }) => ({ id, shard: shardIndex, error: null }),
          (error: unknown) => ({ id: null, shard: null, error }),
        );
      this.publishes.push({ n, sentMs, endedMs: Date.now(), ...outcome });
      await pace(PACE_MS);
    }
  }
}
