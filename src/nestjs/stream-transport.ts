import {
  type ConsumerEvents,
  CoordinatorClient,
  StreamConsumer,
  type StreamConsumerOptions,
  StreamPublisher,
  type StreamPublisherOptions,
} from '../client';

/** What the module needs of a consumer. */
export interface RunningConsumer {
  start(): Promise<void>;
  stop(): Promise<void>;
  on<Name extends 'error' | 'correction'>(
    event: Name,
    listener: (...details: ConsumerEvents[Name]) => void,
  ): unknown;
}

/** What the module needs of a coordinator client, beyond handing it on. */
export interface SharedCoordinator {
  close(): Promise<void>;
}

/** How the module makes consumers and publishers. The SDK is the one that ships; tests bring others. */
export interface StreamTransport {
  coordinator(coordinatorUrl: string | readonly string[]): SharedCoordinator;
  consumer(options: StreamConsumerOptions): RunningConsumer;
  publisher(options: StreamPublisherOptions): StreamPublisher;
}

export const sdkTransport: StreamTransport = {
  coordinator: (coordinatorUrl) => new CoordinatorClient({ coordinatorUrl }),
  consumer: (options) => new StreamConsumer(options),
  publisher: (options) => new StreamPublisher(options),
};
