import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { PipelineReply } from '../../../src/redis/redis-commands';
import { RedisFaultError } from '../../../src/redis/redis-fault';
import { RedisIdentity } from '../../../src/redis/redis-identity';

/** A server at the other end of a connection, whose answers to INFO wait until the test lets them go. */
class FakeServer extends EventEmitter {
  status: Redis['status'] = 'connecting';
  role = 'master';
  runId = 'run-1';
  asked = 0;
  private waiting: ((replies: readonly PipelineReply[]) => void)[] = [];

  readonly commands = {
    pipeline: async (): Promise<readonly PipelineReply[]> => {
      this.asked += 1;
      return new Promise((resolve) => this.waiting.push(resolve));
    },
  };

  identity(): RedisIdentity {
    return new RedisIdentity(this as unknown as Redis, this.commands);
  }

  connect(): void {
    this.status = 'ready';
    this.emit('ready');
  }

  close(): void {
    this.status = 'close';
    this.emit('close');
  }

  async answer(replies?: readonly PipelineReply[]): Promise<void> {
    const server = `# Server\r\nredis_version:7.0.15\r\nrun_id:${this.runId}\r\ntcp_port:6379\r\n`;
    const replication = `# Replication\r\nrole:${this.role}\r\nmaster_replid:repl-1\r\nmaster_replid2:000\r\n`;
    for (const resolve of this.waiting.splice(0))
      resolve(replies ?? [{ value: server }, { value: replication }]);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the identity of Redis', () => {
  it('is read with each connection, before anybody asks for it', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.connect();
    expect([server.asked, identity.current]).toEqual([1, null]);
    await server.answer();
    expect(identity.current).toBe('run-1/repl-1');
  });

  it('is not known from the end of a connection until the next one was asked', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.connect();
    await server.answer();
    server.close();
    expect(identity.current).toBeNull();
    server.runId = 'run-2';
    server.connect();
    expect(identity.current).toBeNull();
    await server.answer();
    expect(identity.current).toBe('run-2/repl-1');
  });

  it('is asked for once by all who wait for it', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.connect();
    const reads = Promise.all([identity.read(), identity.read()]);
    await server.answer();
    expect(await reads).toEqual(['run-1/repl-1', 'run-1/repl-1']);
    expect(server.asked).toBe(1);
  });

  it('takes no answer that belongs to a former connection', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.connect();
    const early = identity.read();
    server.close();
    await server.answer();
    await expect(early).rejects.toMatchObject({ fault: 'CONNECTION', retryable: true });
    expect(identity.current).toBeNull();
  });

  it('is asked for each time while the server is a replica: it may be promoted on this connection', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.role = 'slave';
    server.connect();
    await server.answer();
    expect(identity.current).toBeNull();
    const read = identity.read();
    await server.answer();
    expect(await read).toBe('run-1/repl-1');
    expect([identity.current, server.asked]).toEqual([null, 2]);
  });

  it('is refused with the reason when INFO is not permitted, and asked for again then', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.connect();
    const error = new RedisFaultError('INFO', 'NOT_PERMITTED', false, { cause: new Error('NOPERM') });
    const read = identity.read();
    await server.answer([{ error }, { error }]);
    await expect(read).rejects.toMatchObject({ operation: 'INFO', fault: 'NOT_PERMITTED' });
    const again = identity.read();
    await server.answer();
    expect(await again).toBe('run-1/repl-1');
  });

  it('is refused when the server does not tell it', async () => {
    const server = new FakeServer();
    const identity = server.identity();
    server.connect();
    const read = identity.read();
    await server.answer([{ value: 'run_id:run-1\r\n' }, { value: 'role:master\r\n' }]);
    await expect(read).rejects.toMatchObject({ fault: 'UNEXPECTED', retryable: false });
  });
});
