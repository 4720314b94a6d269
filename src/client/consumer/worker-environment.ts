import type { StreamPrefix } from '../../domain/ids';
import type { GroupCommands } from '../redis/group-commands';
import type { Clock } from './clock';
import type { ConsumerMetrics } from './consumer-metrics';
import type { FaultReport } from './fault-report';
import type { FlushTurn } from './flush-turn';
import type { InvalidMessageError } from '../handler-errors';
import type { MessageContext, MessageHandler, StreamMessage } from './message';
import type { RetryBackoff } from './outcome';

export type InvalidMessageHandler = (
  message: StreamMessage,
  context: MessageContext,
  error: InvalidMessageError,
) => unknown;

/** What the application decides about handling. */
export interface HandlingOptions {
  readonly handler: MessageHandler;
  readonly onInvalid: InvalidMessageHandler | null;
  readonly ackMode: 'auto' | 'manual';
  /** Attempts after which an entry goes to the dead letters; at least 2. */
  readonly maxDeliveries: number;
  readonly retry: RetryBackoff;
  /** COUNT of XREADGROUP, per shard. */
  readonly readCount: number;
}

/** The world of the shard workers of one tenure: what they may use. */
export interface WorkerEnvironment {
  readonly streamPrefix: StreamPrefix;
  readonly memberId: string;
  /** Name in the Redis group: of one tenure, so that nothing of another is ever taken for its own. */
  readonly consumer: string;
  readonly handling: HandlingOptions;
  readonly commands: GroupCommands;
  readonly clock: Clock;
  readonly random: () => number;
  readonly turn: FlushTurn;
  readonly metrics: ConsumerMetrics;
  readonly faults: FaultReport;
  /** Whether the lease holds at this instant. */
  readonly mayWork: () => boolean;
}

/** Whom a worker tells. */
export interface WorkerListener {
  /** It has something to handle. */
  onReady(): void;
  /** What it wants to be read has changed. */
  onReadInterest(): void;
  /** A read under way includes it and must not go on. */
  onReadUnwanted(): void;
  /** Nothing runs any more. Called once. */
  onStopped(): void;
}
