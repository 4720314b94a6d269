import type { Redis } from 'ioredis';
import type { FaultLog } from './fault-log';
import { faultOf, isReply, RedisFaultError } from './redis-fault';
import { SilenceWatch } from './silence-watch';

export type RedisArgument = string | number;
export type RedisCommandLine = readonly [command: string, ...args: RedisArgument[]];

/** One answer of a pipeline. */
export type PipelineReply = { readonly value: unknown } | { readonly error: RedisFaultError };

/**
 * Sends commands on one connection. Every command ends within the connection's command timeout; every failure is a
 * `RedisFaultError`. Nothing is sent twice and nothing waits for a connection: without one, a command fails at once.
 */
export class RedisCommands {
  /** The last failure to connect; forgotten with the first answer after it (a connection that cannot log in is open, too). */
  private connectionError: unknown = null;
  private readonly silence: SilenceWatch;

  constructor(
    private readonly client: Redis,
    private readonly faultLog: FaultLog,
  ) {
    this.silence = new SilenceWatch(client);
    client.on('error', (error: unknown) => {
      this.connectionError = error;
      faultLog.report('connect', error);
    });
  }

  /** @throws RedisFaultError */
  async call(operation: string, command: string, ...args: readonly RedisArgument[]): Promise<unknown> {
    try {
      const reply = await this.client.call(command, ...args);
      this.succeeded();
      return reply;
    } catch (error) {
      throw this.faultError(operation, error);
    }
  }

  /** Sends all at once; answers in the same order. @throws RedisFaultError when there is no connection. */
  async pipeline(
    operation: string,
    commands: readonly RedisCommandLine[],
  ): Promise<readonly PipelineReply[]> {
    const pipeline = this.client.pipeline();
    for (const [command, ...args] of commands) pipeline.call(command, ...args);
    try {
      const replies = (await pipeline.exec()) ?? [];
      if (replies.some(([error]) => error === null)) this.succeeded();
      return replies.map(([error, value]) =>
        error === null ? { value } : { error: this.faultError(operation, error) },
      );
    } catch (error) {
      throw this.faultError(operation, error);
    }
  }

  private succeeded(): void {
    this.connectionError = null;
    this.silence.answered();
  }

  private faultError(operation: string, error: unknown): RedisFaultError {
    const own = faultOf(error);
    if (isReply(error)) this.silence.answered();
    else if (own.fault === 'TIMEOUT') this.silence.missed();
    // That there is no connection says less than why: a wrong password, say.
    const telling =
      own.fault === 'CONNECTION' && this.connectionError !== null ? this.connectionError : error;
    const { fault, retryable } = telling === error ? own : faultOf(telling);
    const failure = new RedisFaultError(operation, fault, retryable, { cause: telling });
    // An unexpected answer (NOSCRIPT, BUSYGROUP, WRONGTYPE) is for the caller to judge.
    if (fault !== 'UNEXPECTED' || !isReply(telling)) this.faultLog.report(operation, failure);
    return failure;
  }
}
