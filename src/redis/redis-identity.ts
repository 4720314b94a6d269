import type { Redis } from 'ioredis';
import type { PipelineReply, RedisCommands } from './redis-commands';
import { RedisFaultError } from './redis-fault';

/**
 * Which Redis is at the other end: `<run_id>/<master_replid>`. It changes with a restart and with a failover, after either of
 * which writes may be missing. Known from the first answer to INFO on a connection until that connection closes, or until the
 * server says that it is no primary: it may become one again on the same connection, with other data. Of a replica it is asked
 * for each time.
 */
export class RedisIdentity {
  private id: string | null = null;
  private reading: Promise<string> | null = null;

  constructor(
    client: Pick<Redis, 'on' | 'status'>,
    private readonly commands: Pick<RedisCommands, 'pipeline'>,
  ) {
    client.on('close', () => this.forget());
    client.on('ready', () => this.readAhead());
    if (client.status === 'ready') this.readAhead();
  }

  /** null: not known now. */
  get current(): string | null {
    return this.id;
  }

  /**
   * The identity for a command that is sent in the same turn as this resolves.
   * @throws RedisFaultError when there is no connection, or the ACL does not permit INFO.
   */
  read(): Promise<string> {
    this.reading ??= this.ask();
    return this.reading;
  }

  /** As a script said that this connection's Redis ran, which takes writes. Only corrects what is known. */
  learn(redisId: string): void {
    if (this.id !== null) this.id = redisId;
  }

  /** Whatever was known is worth nothing any more. */
  forget(): void {
    this.id = null;
    this.reading = null;
  }

  private readAhead(): void {
    if (this.id === null) this.read().catch(() => undefined); // whoever needs it asks again
  }

  private ask(): Promise<string> {
    const isCurrent = (): boolean => this.reading === reading;
    const reading = this.askOnce().then(
      ({ id, isPrimary }) => {
        if (!isCurrent()) throw connectionLost();
        this.reading = null;
        if (isPrimary) this.id = id;
        return id;
      },
      (error: unknown) => {
        if (isCurrent()) this.reading = null;
        throw error;
      },
    );
    return reading;
  }

  private async askOnce(): Promise<{ readonly id: string; readonly isPrimary: boolean }> {
    const replies = await this.commands.pipeline(OPERATION, [
      ['INFO', 'server'],
      ['INFO', 'replication'],
    ]);
    const text = replies.map(textOf).join('\n');
    if (CLUSTER_MODE.test(text)) throw clusterMismatch();
    const [runId, replicationId, role] = ['run_id', 'master_replid', 'role'].map((name) =>
      fieldOf(text, name),
    );
    return { id: `${runId}/${replicationId}`, isPrimary: role === 'master' };
  }
}

const OPERATION = 'INFO';
const CLUSTER_MODE = /^redis_mode:cluster/m;

function textOf(reply: PipelineReply): string {
  if ('error' in reply) throw reply.error;
  return String(reply.value);
}

function fieldOf(info: string, name: string): string {
  const value = new RegExp(`^${name}:([^\\r\\n]+)`, 'm').exec(info)?.[1];
  if (value !== undefined) return value;
  throw new RedisFaultError(OPERATION, 'UNEXPECTED', false, { cause: new Error(`INFO has no ${name}`) });
}

/** Keys of different slots share scripts here: on a cluster every pass of the event loop would be refused. */
function clusterMismatch(): RedisFaultError {
  const cause = new Error('REDIS_URL names a node of a Redis cluster; this version needs a standalone Redis');
  return new RedisFaultError(OPERATION, 'CLUSTER_REDIRECT', false, { cause });
}

function connectionLost(): RedisFaultError {
  const cause = new Error('the connection was lost while the identity of Redis was read');
  return new RedisFaultError(OPERATION, 'CONNECTION', true, { cause });
}
