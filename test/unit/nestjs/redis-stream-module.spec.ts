import { EventEmitter } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, type OnApplicationShutdown, Scope } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { ConsumerEvents, StreamConsumerOptions, StreamPublisherOptions } from '../../../src/client';
import { StreamPublisher } from '../../../src/client';
import {
  getPublisherToken,
  InjectPublisher,
  RedisStreamModule,
  type RedisStreamModuleOptions,
  StreamListener,
  StreamRuntime,
} from '../../../src/nestjs';
import type { StreamTransport } from '../../../src/nestjs';

/** Records what the app makes of the SDK, in order. */
class StubTransport implements StreamTransport {
  readonly events: string[] = [];
  readonly consumers: StreamConsumerOptions[] = [];
  readonly publishers: StreamPublisherOptions[] = [];
  readonly emitters: EventEmitter<ConsumerEvents>[] = [];
  failingStream: string | null = null;

  coordinator(coordinatorUrl: string | readonly string[]): { close(): Promise<void> } {
    this.events.push(`coordinator ${String(coordinatorUrl)}`);
    return { close: async () => this.note('coordinator closed') };
  }

  consumer(options: StreamConsumerOptions): ReturnType<StreamTransport['consumer']> {
    this.consumers.push(options);
    const emitter = new EventEmitter<ConsumerEvents>();
    this.emitters.push(emitter);
    return {
      start: async () => {
        if (options.streamPrefix === this.failingStream) throw new Error('no such group');
        this.note(`consumer ${options.streamPrefix} started`);
      },
      stop: async () => this.note(`consumer ${options.streamPrefix} stopped`),
      on: (event, listener) => emitter.on(event, listener as never),
    };
  }

  publisher(options: StreamPublisherOptions): StreamPublisher {
    this.publishers.push(options);
    const stub = {
      start: async () => this.note(`publisher ${options.streamPrefix} started`),
      close: async () => this.note(`publisher ${options.streamPrefix} closed`),
      publish: async () => ({ streamKey: `${options.streamPrefix}:0`, id: '1-0', shardIndex: 0 }),
    };
    return stub as unknown as StreamPublisher;
  }

  private note(event: string): void {
    this.events.push(event);
  }
}

@Injectable()
class OrdersService {
  readonly handled: unknown[] = [];
  private readonly name = 'orders';

  @StreamListener({ streamPrefix: 'orders', consumerGroup: 'billing', concurrency: 3 })
  async onOrder(message: unknown): Promise<string> {
    this.handled.push(message);
    return this.name;
  }

  @StreamListener({ streamPrefix: 'refunds', consumerGroup: 'billing' })
  onRefund(): void {
    throw new Error('no refunds');
  }

  notAListener(): string {
    return this.name;
  }
}

@Injectable()
class Shop {
  constructor(
    @InjectPublisher('orders', 'billing') readonly orders: StreamPublisher,
    @InjectPublisher('bills', 'printing') readonly bills: StreamPublisher,
  ) {}
}

@Injectable()
class Database implements OnApplicationShutdown {
  constructor(@Inject('events') private readonly events: string[]) {}

  onApplicationShutdown(): void {
    this.events.push('database closed');
  }
}

let app: TestingModule | null = null;

afterEach(async () => {
  await app?.close();
  app = null;
});

function optionsOf(
  transport: StubTransport,
  more: Partial<RedisStreamModuleOptions> = {},
): RedisStreamModuleOptions {
  return { coordinatorUrl: 'http://c:1', redis: 'redis://r:1', transport, ...more };
}

describe('RedisStreamModule', () => {
  it('starts a consumer for every listener, bound to its provider, with the shared connection options', async () => {
    const transport = new StubTransport();
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport))],
      providers: [OrdersService],
    }).compile();
    expect(transport.events).toEqual(['coordinator http://c:1']); // nothing before the application has bootstrapped
    await app.init();
    expect(transport.consumers).toMatchObject([
      { streamPrefix: 'orders', consumerGroup: 'billing', concurrency: 3, redis: 'redis://r:1' },
      { streamPrefix: 'refunds', consumerGroup: 'billing', redis: 'redis://r:1' },
    ]);
    expect(transport.consumers.every(({ coordinator }) => coordinator !== undefined)).toBe(true);
    const message = { id: '1-0' };
    expect(await transport.consumers[0]!.handler(message as never, {} as never)).toBe('orders');
    expect(app.get(OrdersService).handled).toEqual([message]);
    await expect(transport.consumers[1]!.handler({} as never, {} as never)).rejects.toThrow('no refunds');
  });

  it('gives one version store and one metrics registry to every listener and publisher', async () => {
    const transport = new StubTransport();
    const versionStore = { load: async () => null, save: async () => undefined };
    const metricsRegistry = { registerMetric: () => undefined, getSingleMetric: () => undefined };
    app = await Test.createTestingModule({
      imports: [
        RedisStreamModule.forRoot(optionsOf(transport, { versionStore, metricsRegistry })),
        RedisStreamModule.forPublisher({ streamPrefix: 'bills', consumerGroup: 'printing' }),
      ],
      providers: [OrdersService],
    }).compile();
    await app.init();
    const made = [...transport.consumers, ...transport.publishers];
    expect(made.length).toBe(3);
    for (const options of made) {
      expect(options.versionStore).toBe(versionStore);
      expect(options.metricsRegistry).toBe(metricsRegistry);
    }
  });

  it('stops consumers before anything else closes, and closes publishers last', async () => {
    const transport = new StubTransport();
    app = await Test.createTestingModule({
      imports: [
        RedisStreamModule.forRoot(optionsOf(transport)),
        RedisStreamModule.forPublisher({ streamPrefix: 'bills', consumerGroup: 'printing' }),
      ],
      providers: [OrdersService, Database, { provide: 'events', useValue: transport.events }],
    }).compile();
    await app.init();
    await app.close();
    app = null;
    const { events } = transport;
    expect(events.slice(1, 4)).toEqual([
      'publisher bills started',
      'consumer orders started',
      'consumer refunds started',
    ]);
    expect(events.slice(4, 6)).toEqual(['consumer orders stopped', 'consumer refunds stopped']);
    expect(events).toContain('database closed');
    expect(events.at(-1)).toBe('coordinator closed');
    expect(events.indexOf('publisher bills closed')).toBeGreaterThan(5);
  });

  it('injects the publisher of a stream by its token, and the only one by its class', async () => {
    const transport = new StubTransport();
    @Module({
      imports: [
        RedisStreamModule.forPublisher({ streamPrefix: 'orders', consumerGroup: 'billing', maxInFlight: 7 }),
        RedisStreamModule.forPublisher({ streamPrefix: 'bills', consumerGroup: 'printing' }),
      ],
      providers: [Shop],
    })
    class ShopModule {}
    @Injectable()
    class Printer {
      constructor(readonly publisher: StreamPublisher) {}
    }
    @Module({
      imports: [RedisStreamModule.forPublisher({ streamPrefix: 'pages', consumerGroup: 'printing' })],
      providers: [Printer],
    })
    class PrinterModule {}
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport)), ShopModule, PrinterModule],
    }).compile();
    const shop = app.get(Shop, { strict: false });
    expect(await shop.orders.publish('a', 'x')).toMatchObject({ streamKey: 'orders:0' });
    expect(await shop.bills.publish('a', 'x')).toMatchObject({ streamKey: 'bills:0' });
    const printer = app.get(Printer, { strict: false });
    expect(await printer.publisher.publish('a', 'x')).toMatchObject({ streamKey: 'pages:0' });
    expect(transport.publishers).toContainEqual(
      expect.objectContaining({ streamPrefix: 'orders', maxInFlight: 7, redis: 'redis://r:1' }),
    );
    expect(app.get(getPublisherToken('orders', 'billing'), { strict: false })).toBe(shop.orders);
  });

  it('takes its options from a factory with dependencies', async () => {
    const transport = new StubTransport();
    @Module({ providers: [{ provide: 'address', useValue: 'http://from-config:1' }], exports: ['address'] })
    class ConfigModule {}
    app = await Test.createTestingModule({
      imports: [
        RedisStreamModule.forRootAsync({
          imports: [ConfigModule],
          inject: ['address'],
          useFactory: async (coordinatorUrl: string) => optionsOf(transport, { coordinatorUrl }),
        }),
      ],
    }).compile();
    expect(transport.events).toEqual(['coordinator http://from-config:1']);
  });

  it('fails the start of the application when a consumer cannot start, and stops the others', async () => {
    const transport = new StubTransport();
    transport.failingStream = 'refunds';
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport))],
      providers: [OrdersService],
    }).compile();
    await expect(app.init()).rejects.toThrow('no such group');
    app = null; // cannot be closed: it never was open
    expect(transport.events).toContain('consumer orders stopped');
    expect(transport.events.at(-1)).toBe('coordinator closed');
  });

  it('starts nothing on its own when told so', async () => {
    const transport = new StubTransport();
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport, { autoStart: false }))],
      providers: [OrdersService],
    }).compile();
    await app.init();
    expect(transport.consumers).toEqual([]);
    await app.get(StreamRuntime, { strict: false }).start();
    expect(transport.consumers.length).toBe(2);
  });

  it('refuses a listener in a provider that is made per request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      @StreamListener({ streamPrefix: 'orders', consumerGroup: 'billing' })
      onOrder(): void {
        return undefined;
      }
    }
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(new StubTransport()))],
      providers: [PerRequest],
    }).compile();
    await expect(app.init()).rejects.toThrow(/PerRequest.*request-scoped/);
    app = null;
  });

  it('starts one consumer for a provider that is known by two tokens', async () => {
    const transport = new StubTransport();
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport))],
      providers: [OrdersService, { provide: 'alias', useExisting: OrdersService }],
    }).compile();
    await app.init();
    expect(transport.consumers.length).toBe(2);
  });

  it('hears the errors of consumers: an unheard one would end the process', async () => {
    const transport = new StubTransport();
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport))],
      providers: [OrdersService],
    }).compile();
    app.useLogger(false);
    await app.init();
    expect(transport.emitters.length).toBe(2);
    for (const emitter of transport.emitters) emitter.emit('error', new Error('refused'));
  });

  it('logs correction rounds: nobody else of the application sees the consumers', async () => {
    const transport = new StubTransport();
    const warnings: unknown[] = [];
    app = await Test.createTestingModule({
      imports: [RedisStreamModule.forRoot(optionsOf(transport))],
      providers: [OrdersService],
    }).compile();
    app.useLogger({
      warn: (text: unknown) => warnings.push(text),
      log: () => undefined,
      error: () => undefined,
    });
    await app.init();
    transport.emitters[0]!.emit('correction', { state: 'STARTED', metadataVersion: 5 });
    transport.emitters[0]!.emit('correction', { state: 'ENDED', metadataVersion: 6 });
    expect(warnings).toEqual([
      expect.stringMatching(/onOrder: Redis may have lost writes/),
      expect.stringMatching(/onOrder: the correction round .* is over/),
    ]);
  });

  it('builds the SDK from its options when no transport is given', async () => {
    app = await Test.createTestingModule({
      imports: [
        RedisStreamModule.forRoot({
          coordinatorUrl: 'http://127.0.0.1:1',
          redis: 'redis://127.0.0.1:1',
          autoStart: false,
        }),
        RedisStreamModule.forPublisher({ streamPrefix: 'orders', consumerGroup: 'billing' }),
      ],
    }).compile();
    const publisher: unknown = app.get(getPublisherToken('orders', 'billing'), { strict: false });
    expect(publisher).toBeInstanceOf(StreamPublisher);
  });
});
