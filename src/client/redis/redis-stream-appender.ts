import { Command } from 'ioredis';
import { RedisUnavailableError, UnsupportedRedisError } from '../errors';
import type { AppendOutcome, EntryFields, StreamAppender } from '../publisher/stream-appender';
import type { Clock } from '../consumer/clock';
import type { RedisSource } from './connection';
import { redisFaultOf } from './redis-faults';
import { RedisLink } from './redis-link';
import { probeForPublisher } from './redis-probe';
import { TurnWriter } from './turn-writer';

export interface RedisAppenderSettings {
  readonly redis: RedisSource;
  readonly clock: Clock;
  /** Milliseconds without any answer after which a connection with commands under way is taken for dead and replaced. */
  readonly stallMs: number;
  readonly onTrouble: (error: Error) => void;
}

const RETRYABLE_REFUSALS = new Set([
  ...['OOM', 'READONLY', 'LOADING', 'MASTERDOWN', 'BUSY', 'NOREPLICAS', 'MISCONF', 'TRYAGAIN', 'CLUSTERDOWN'],
  ...['MOVED', 'ASK'],
]);
const MISSING: AppendOutcome = { kind: 'MISSING' };
const NOT_CONNECTED: AppendOutcome = { kind: 'NOT_SENT', cause: new Error('no connection') };
const CHECKS_PER_STALL = 4;

/**
 * XADD NOMKSTREAM over one connection of ioredis. Commands of one turn of the event loop leave in one write. A connection that
 * answers nothing for `stallMs` while something waits is cut: whatever waits on it then settles as UNCERTAIN, so that a
 * frozen Redis cannot pile up commands.
 */
export class RedisStreamAppender implements StreamAppender {
  private link: RedisLink | null = null;
  private underWay = 0;
  private lastSignMs = 0;
  private writer: TurnWriter | null = null;
  private cancelCheck: () => void = () => undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly settings: RedisAppenderSettings) {}

  get isReady(): boolean {
    return this.link?.isReady === true;
  }

  async open(sampleStreamKey: string): Promise<void> {
    this.close();
    const { redis, onTrouble, stallMs } = this.settings;
    const link = new RedisLink(redis, { role: 'COMMANDS', commandTimeoutMs: null }, onTrouble);
    this.link = link;
    this.writer = new TurnWriter(link.client);
    for (const event of ['connect', 'ready', 'close']) link.client.on(event, () => this.noteSign());
    this.noteSign();
    this.watch(stallMs / CHECKS_PER_STALL);
    try {
      await link.connect();
      await probeForPublisher(link.client, sampleStreamKey);
    } catch (cause) {
      this.close();
      throw cause instanceof UnsupportedRedisError ? cause : new RedisUnavailableError({ cause });
    }
    link.onReady(() => {
      const listeners = [...this.listeners];
      this.listeners.clear();
      for (const listener of listeners) listener();
    });
  }

  onceReady(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  append(streamKey: string, fields: EntryFields, trimToApproximately: number | null): Promise<AppendOutcome> {
    const { link, writer } = this;
    if (link === null || writer === null || !link.isReady) return Promise.resolve(NOT_CONNECTED);
    if (this.underWay === 0) this.noteSign();
    this.underWay += 1;
    const target = [streamKey, 'NOMKSTREAM'];
    const trim = trimToApproximately === null ? [] : ['MAXLEN', '~', trimToApproximately];
    const command = new Command('xadd', [...target, ...trim, '*', ...fields], { replyEncoding: 'utf8' });
    const sent = link.client.sendCommand(command, writer) as Promise<string | null>;
    return sent.then(this.onAnswer, this.onFailure);
  }

  private readonly onAnswer = (id: string | null): AppendOutcome => {
    this.underWay -= 1;
    this.noteSign();
    return id === null ? MISSING : { kind: 'APPENDED', id };
  };

  private readonly onFailure = (error: unknown): AppendOutcome => {
    this.underWay -= 1;
    this.noteSign();
    return outcomeOf(error);
  };

  close(): void {
    this.cancelCheck();
    this.link?.close();
    this.link = null;
    this.writer = null;
  }

  private noteSign(): void {
    this.lastSignMs = this.settings.clock.nowMs();
  }

  private watch(everyMs: number): void {
    this.cancelCheck = this.settings.clock.after(everyMs, () => {
      const link = this.link;
      if (link === null) return;
      // `connect`: there is a socket, and Redis has not answered on it yet.
      const isWaiting = this.underWay > 0 || link.client.status === 'connect';
      if (isWaiting && this.settings.clock.nowMs() - this.lastSignMs >= this.settings.stallMs) {
        this.noteSign();
        link.cut();
      }
      this.watch(everyMs);
    });
  }
}

function outcomeOf(error: unknown): AppendOutcome {
  if (!(error instanceof Error)) return { kind: 'UNCERTAIN', cause: error };
  if (error.name === 'ReplyError') {
    const redisCode = /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
    return { kind: 'REJECTED', redisCode, retryable: RETRYABLE_REFUSALS.has(redisCode), cause: error };
  }
  const wasHeldBack = redisFaultOf(error) === 'CONNECTION' && /isn't writeable/.test(error.message);
  return { kind: wasHeldBack ? 'NOT_SENT' : 'UNCERTAIN', cause: error };
}
