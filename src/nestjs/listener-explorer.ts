import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { MessageHandler } from '../client';
import { STREAM_LISTENER_METADATA, type StreamListenerOptions } from './stream-listener';

export interface DiscoveredListener {
  /** `OrdersService.onOrder`, for logs. */
  readonly name: string;
  readonly options: StreamListenerOptions;
  readonly handler: MessageHandler;
}

/** Finds the methods with `@StreamListener` in all providers and controllers that live as long as the application. */
@Injectable()
export class ListenerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** Throws when a listener is in a provider that is made per request: there is no request when an entry comes. */
  listeners(): DiscoveredListener[] {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    const seen = new Set<object>();
    return wrappers.flatMap((wrapper) => {
      const { metatype } = wrapper;
      const prototype =
        typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
      if (prototype === undefined) return [];
      const methods = this.listenersOf(prototype);
      if (methods.length === 0) return [];
      if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
        throw new Error(`${wrapper.name} has a @StreamListener and must not be request-scoped or transient`);
      }
      const instance = wrapper.instance as object | undefined;
      if (instance === undefined || seen.has(instance)) return []; // the same object under two tokens
      seen.add(instance);
      return methods.map(([method, options]) => ({
        name: `${wrapper.name}.${method}`,
        options,
        handler: boundMethod(instance, method),
      }));
    });
  }

  private listenersOf(prototype: object): [method: string, options: StreamListenerOptions][] {
    return this.scanner.getAllMethodNames(prototype).flatMap((method) => {
      const target = (prototype as Readonly<Record<string, unknown>>)[method] as () => unknown;
      const options = this.reflector.get<StreamListenerOptions | undefined>(STREAM_LISTENER_METADATA, target);
      return options === undefined ? [] : [[method, options]];
    });
  }
}

/** Looked up at each call, so that a method replaced by a test or an interceptor counts. */
function boundMethod(instance: object, method: string): MessageHandler {
  const methods = instance as Readonly<Record<string, MessageHandler>>;
  return async (message, context) => methods[method]?.(message, context);
}
