import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CoordinatorApp, errorOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer } from '../support/redis-server';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('HTTP', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  const requestId = async (given?: string): Promise<string | null> => {
    const headers = given === undefined ? {} : { 'x-request-id': given };
    const answer = await coordinator.call('GET', '/coord/v1/monitoring/compatibility', undefined, {
      headers,
    });
    return answer.headers.get('x-request-id');
  };

  /** Sends bytes as they are; resolves to what came back until the server closed. */
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { port, hostname } = new URL(coordinator.url);
      const socket = connect({ port: Number(port), host: hostname });
      let received = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
      socket.once('close', () => resolve(received)).once('error', reject);
      socket.write(text);
    });

  it('returns the request id that was sent, also with an error', async () => {
    expect(await requestId('my-id.1:a@b/c+d=')).toBe('my-id.1:a@b/c+d=');
    const headers = { 'x-request-id': 'of-an-error' };
    const answer = await coordinator.call('GET', '/nowhere', undefined, { headers });
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([404, 'of-an-error']);
  });

  it.each([undefined, '', 'a b', 'x'.repeat(201), 'a"b', 'a\tb', '{}'])(
    'makes an id of its own for %j',
    async (given) => {
      expect(await requestId(given)).toMatch(UUID);
    },
  );

  it('answers what no route is for in the shape of the contract', async () => {
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['PUT', '/coord/v1/streams/orders'],
      ['GET', '/'],
    ] as const) {
      expect(await coordinator.call(method, path)).toMatchObject({
        status: 404,
        body: { status: 'NOT_FOUND', errorCode: 'NOT_FOUND', retryable: false },
      });
    }
  });

  it('answers a path that cannot be decoded in the shape of the contract, with an id', async () => {
    const answer = await coordinator.call('GET', '/coord/v1/streams/%zz/groups/g');
    expect(answer).toMatchObject({
      status: 400,
      body: { status: 'BAD_REQUEST', errorCode: 'INVALID_REQUEST' },
    });
    expect(answer.headers.get('x-request-id')).toMatch(UUID);
  });

  it('answers a name of thousands of characters by its field', async () => {
    const answer = await coordinator.call('GET', `/coord/v1/streams/${'a'.repeat(8_000)}/groups/g`);
    expect(answer).toMatchObject({ status: 400, body: { details: [{ field: 'streamPrefix' }] } });
  });

  it('refuses two dots as a name when a client sends them as they are', async () => {
    const answer = await raw(
      'GET /coord/v1/streams/../groups/g HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"field":"streamPrefix"');
  });

  it.each([
    ['no HTTP at all', 'nonsense\r\n\r\n', 400],
    ['a head beyond all bounds', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ])('answers %s in the shape of the contract', async (_case, text, status) => {
    const answer = await raw(text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain('"errorCode":"INVALID_REQUEST"');
  });

  it('never logs a body or a query', async () => {
    const body = { requestedBy: 'someone', reason: 'because', note: 'not-to-be-logged' };
    await coordinator.call('POST', '/coord/v1/streams/logged?token=not-to-be-logged', body);
    await coordinator.call('POST', '/coord/v1/streams/log{ged', body);
    expect(JSON.stringify(coordinator.log)).not.toContain('not-to-be-logged');
    expect(errorOf(await coordinator.call('GET', '/nowhere?x=y')).message).toBe('there is no GET /nowhere');
  });
});
