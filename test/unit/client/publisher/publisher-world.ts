import { expect } from '@jest/globals';
import type { StreamPublisherOptions } from '../../../../src/client/publisher/publisher-options';
import type {
  AppendOutcome,
  EntryFields,
  StreamAppender,
} from '../../../../src/client/publisher/stream-appender';
import { StreamPublisher } from '../../../../src/client/publisher/stream-publisher';
import type { ProducerRouting } from '../../../../src/protocol';
import { ManualClock, settle } from '../../../support/manual-clock';
import { routingOf } from './routing-samples';

interface Sent {
  readonly streamKey: string;
  readonly fields: EntryFields;
  readonly trim: number | null;
  settle(outcome: AppendOutcome): Promise<void>;
}

/** The way to Redis, moved by hand unless `answerWith` says what to answer at once. */
export class StubAppender implements StreamAppender {
  isReady = true;
  readonly sent: Sent[] = [];
  answerWith: ((streamKey: string) => AppendOutcome) | null = null;
  openFailure: Error | null = null;
  closed = 0;
  private readonly listeners = new Set<() => void>();

  async open(): Promise<void> {
    if (this.openFailure !== null) throw this.openFailure;
  }

  onceReady(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async becomeReady(): Promise<void> {
    this.isReady = true;
    for (const listener of [...this.listeners]) listener();
    this.listeners.clear();
    await settle();
  }

  get waiting(): number {
    return this.listeners.size;
  }

  async append(streamKey: string, fields: EntryFields, trim: number | null): Promise<AppendOutcome> {
    return new Promise((resolve) => {
      this.sent.push({
        streamKey,
        fields,
        trim,
        settle: async (outcome) => {
          resolve(outcome);
          await settle();
        },
      });
      if (this.answerWith !== null) resolve(this.answerWith(streamKey));
    });
  }

  close(): void {
    this.closed += 1;
  }
}

export const APPENDED: AppendOutcome = { kind: 'APPENDED', id: '1-1' };
export const UNCERTAIN: AppendOutcome = { kind: 'UNCERTAIN', cause: new Error('Connection is closed.') };
export const MISSING: AppendOutcome = { kind: 'MISSING' };

/** Publishers whose clock, coordinator and Redis are moved by hand. */
export class PublisherWorld {
  readonly clock = new ManualClock();
  readonly appender = new StubAppender();
  routing: () => ProducerRouting | Promise<ProducerRouting> = () => routingOf(5);
  routingCalls = 0;
  private readonly publishers: StreamPublisher[] = [];

  publisherOf(options: Partial<StreamPublisherOptions> = {}): StreamPublisher {
    const producerRouting = async (): Promise<ProducerRouting> => {
      this.routingCalls += 1;
      return this.routing();
    };
    const required = { coordinator: { producerRouting }, redis: '', streamPrefix: 'orders' };
    const { clock, appender } = this;
    const ports = { clock, random: () => 0, appender };
    const publisher = new StreamPublisher({ ...required, consumerGroup: 'billing', ...options }, ports);
    this.publishers.push(publisher);
    return publisher;
  }

  /** Closes every publisher, and checks that nothing of them runs on. */
  async end(): Promise<void> {
    for (const publisher of this.publishers) {
      const closed = publisher.close();
      await this.clock.advance(700_000);
      await closed;
    }
    expect(this.clock.timerCount).toBe(0);
  }
}

/** What the promise rejects with. */
export async function failureOf(
  promise: Promise<unknown>,
): Promise<Error & { code?: string; retryable?: boolean }> {
  const outcome = await promise.then(
    () => new Error('it resolved'),
    (error: unknown) => error,
  );
  return outcome as Error;
}
