import { SetMetadata } from '@nestjs/common';
import type { StreamConsumerOptions } from '../client';

/** Options of a consumer that the module does not set itself. */
export type StreamListenerOptions = Omit<
  StreamConsumerOptions,
  'handler' | 'redis' | 'coordinator' | 'coordinatorUrl' | 'metricsRegistry' | 'versionStore'
>;

export const STREAM_LISTENER_METADATA = 'redis-stream-coordinator:listener';

/**
 * Makes a method of a provider the handler of a consumer: it is called with `(message, context)` for every entry of the shards
 * that the coordinator grants to this process. What it throws decides what becomes of the entry, as with a StreamConsumer.
 */
export function StreamListener(options: StreamListenerOptions): MethodDecorator {
  return SetMetadata(STREAM_LISTENER_METADATA, options);
}
