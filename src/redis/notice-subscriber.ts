import type { Redis } from 'ioredis';
import type { FaultLog } from './fault-log';
import { faultOf } from './redis-fault';

/** Keeps an idle subscription from resting on a connection that is gone: an unanswered ping replaces it. */
const PING_INTERVAL_MS = 5_000;

type MessageListener = (message: string) => void;

/**
 * Subscribes to channels on a connection of its own, and again after each reconnection. Messages that are published while it
 * is away are lost.
 */
export class NoticeSubscriber {
  private readonly listeners = new Map<string, Set<MessageListener>>();
  private readonly pingTimer: NodeJS.Timeout;

  constructor(
    private readonly client: Redis,
    private readonly faultLog: FaultLog,
  ) {
    client.on('error', (error: unknown) => faultLog.report('subscribe', error));
    client.on('ready', () => this.subscribe([...this.listeners.keys()]));
    client.on('message', (channel: string, message: string) => {
      for (const listener of this.listeners.get(channel) ?? []) listener(message);
    });
    this.pingTimer = setInterval(() => this.ping(), PING_INTERVAL_MS);
    this.pingTimer.unref();
  }

  /** @returns ends the subscription. */
  onMessage(channel: string, listener: MessageListener): () => void {
    const listeners = this.listeners.get(channel) ?? new Set();
    if (!this.listeners.has(channel)) {
      this.listeners.set(channel, listeners);
      if (this.client.status === 'ready') this.subscribe([channel]);
    }
    const own: MessageListener = (message) => listener(message);
    listeners.add(own);
    return () => listeners.delete(own);
  }

  close(): void {
    clearInterval(this.pingTimer);
    this.listeners.clear();
  }

  private subscribe(channels: readonly string[]): void {
    if (channels.length === 0) return;
    this.client.subscribe(...channels).catch((error: unknown) => this.faultLog.report('subscribe', error));
  }

  private ping(): void {
    if (this.client.status !== 'ready' || this.listeners.size === 0) return;
    this.client.ping().catch((error: unknown) => {
      this.faultLog.report('subscribe', error);
      if (faultOf(error).fault === 'TIMEOUT') this.client.disconnect(true);
    });
  }
}
