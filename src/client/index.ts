/** The public API of the SDK, exported as `redis-stream-coordinator/client`. */
export * from './consumer/consumer-errors';
export type { ConsumerEvents, RevokeReason } from './consumer/consumer-events';
export type { StreamConsumerOptions } from './consumer/consumer-options';
export type { CoordinatorPort } from './consumer/coordinator-port';
export type { InvalidMessageHandler } from './consumer/worker-environment';
export { MessageContext, StreamMessage } from './consumer/message';
export type { MessageHandler } from './consumer/message';
export { StreamConsumer } from './consumer/stream-consumer';
export { CoordinatorClient } from './coordinator-client';
export type {
  CallOptions,
  CoordinatorClientOptions,
  GroupsQuery,
  RoutingQuery,
} from './coordinator-client';
export * from './errors';
export * from './handler-errors';
export type { MetricsRegistry } from './metrics/sampled-metric';
export type { PublishedEntry } from './publisher/delivery';
export type { EntryContent, FieldValue } from './publisher/entry-fields';
export * from './publisher/publish-errors';
export type { RoutingPort, StreamPublisherOptions } from './publisher/publisher-options';
export { StreamPublisher } from './publisher/stream-publisher';
export type { BatchItem, BatchOutcome, PublishOptions } from './publisher/stream-publisher';
export type { RedisSource } from './redis/connection';
export { fileVersionStore } from './versions/file-version-store';
export { VersionStoreError } from './versions/version-store';
export type { VersionStore } from './versions/version-store';
