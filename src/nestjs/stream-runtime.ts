import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { StreamConsumerOptions, StreamPublisher } from '../client';
import { ListenerExplorer } from './listener-explorer';
import {
  type PublisherFeatureOptions,
  REDIS_STREAM_OPTIONS,
  type RedisStreamModuleOptions,
} from './redis-stream-options';
import { type RunningConsumer, type SharedCoordinator, sdkTransport } from './stream-transport';

const CORRECTION_TEXT = {
  STARTED:
    'Redis may have lost writes of its group: it reads what it keeps, and is given nothing until that is settled',
  ENDED: 'the correction round of its group is over',
} as const;

/**
 * Owns every consumer and publisher of the application. They start when the application has bootstrapped, publishers first.
 * Consumers stop in the first phase of the shutdown, while what their handlers use is still there; publishers close in the
 * last, so that handlers and requests under way can publish to the end.
 */
@Injectable()
export class StreamRuntime implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger('RedisStream');
  private readonly coordinator: SharedCoordinator;
  private readonly publishers: StreamPublisher[] = [];
  private readonly consumers: RunningConsumer[] = [];

  constructor(
    @Inject(REDIS_STREAM_OPTIONS) private readonly options: RedisStreamModuleOptions,
    private readonly explorer: ListenerExplorer,
  ) {
    this.coordinator = this.transport.coordinator(options.coordinatorUrl);
  }

  /** A publisher that starts and closes with the application. */
  createPublisher(options: PublisherFeatureOptions): StreamPublisher {
    const { streamPrefix } = options;
    const onError = (error: unknown): void =>
      this.logger.warn(`publisher of ${streamPrefix}: ${messageOf(error)}`);
    const shared = this.shared() as Pick<StreamConsumerOptions, 'redis'>;
    const publisher = this.transport.publisher({ onError, ...options, ...shared });
    this.publishers.push(publisher);
    return publisher;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.options.autoStart === false) return;
    try {
      await this.start();
    } catch (error) {
      await this.onApplicationShutdown(); // Nest calls no hook of an application that did not start
      throw error;
    }
  }

  async onModuleDestroy(): Promise<void> {
    await this.stopConsumers();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.publishers.map(async (publisher) => publisher.close()));
    await this.coordinator.close();
  }

  /** Starts all publishers, then a consumer for every `@StreamListener`. When one fails, the consumers stop again. */
  async start(): Promise<void> {
    await Promise.all(this.publishers.map(async (publisher) => publisher.start()));
    try {
      await Promise.all(this.explorer.listeners().map(async (listener) => this.startConsumer(listener)));
    } catch (error) {
      await this.stopConsumers();
      throw error;
    }
  }

  private async startConsumer({
    name,
    options,
    handler,
  }: ReturnType<ListenerExplorer['listeners']>[number]): Promise<void> {
    const shared = this.shared() as Pick<StreamConsumerOptions, 'redis'>;
    const consumer = this.transport.consumer({ ...options, ...shared, handler });
    consumer.on('error', (error) => this.logger.error(`listener ${name}: ${messageOf(error)}`));
    consumer.on('correction', ({ state }) => this.logger.warn(`listener ${name}: ${CORRECTION_TEXT[state]}`));
    this.consumers.push(consumer);
    await consumer.start();
    this.logger.log(`listener ${name} reads ${options.streamPrefix} as ${options.consumerGroup}`);
  }

  private async stopConsumers(): Promise<void> {
    await Promise.all(this.consumers.splice(0).map(async (consumer) => consumer.stop()));
  }

  private shared(): object {
    const { redis, metricsRegistry, versionStore } = this.options;
    return {
      redis,
      coordinator: this.coordinator,
      ...(metricsRegistry === undefined ? {} : { metricsRegistry }),
      ...(versionStore === undefined ? {} : { versionStore }),
    };
  }

  private get transport(): NonNullable<RedisStreamModuleOptions['transport']> {
    return this.options.transport ?? sdkTransport;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
