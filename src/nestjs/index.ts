/** The SDK as a Nest module, exported as `redis-stream-coordinator/nestjs`. */
export { RedisStreamModule } from './redis-stream.module';
export { getPublisherToken, InjectPublisher } from './redis-stream-options';
export type {
  PublisherFeatureOptions,
  RedisStreamModuleAsyncOptions,
  RedisStreamModuleOptions,
} from './redis-stream-options';
export { StreamListener } from './stream-listener';
export type { StreamListenerOptions } from './stream-listener';
export { StreamRuntime } from './stream-runtime';
export type { RunningConsumer, SharedCoordinator, StreamTransport } from './stream-transport';
