import { afterEach, describe, expect, it } from '@jest/globals';
import { CoordinatorClient, type CoordinatorClientOptions } from '../../../src/client/coordinator-client';
import {
  CoordinatorRequestError,
  CoordinatorUnreachableError,
  InvalidOptionsError,
} from '../../../src/client/errors';
import type { GroupView, HeartbeatAnswer, HeartbeatBody, ProducerRouting } from '../../../src/protocol';
import { HttpStub, type StubHandler } from '../../support/http-stub';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function stubOf(handler: StubHandler): Promise<HttpStub> {
  const stub = await HttpStub.start(handler);
  closers.push(() => stub.stop());
  return stub;
}

function clientOf(
  urls: string | readonly string[],
  options: Partial<CoordinatorClientOptions> = {},
): CoordinatorClient {
  const client = new CoordinatorClient({ coordinatorUrl: urls, ...options });
  closers.push(() => client.close());
  return client;
}

async function failureOf<Kind extends Error>(
  kind: new (...args: never[]) => Kind,
  call: Promise<unknown>,
): Promise<Kind> {
  const failure = await call.then(
    () => new Error('it resolved'),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(kind);
  return failure as Kind;
}

const group: GroupView = {
  streamPrefix: 'orders',
  consumerGroup: 'billing',
  state: 'STABLE',
  groupEpoch: 1,
  assignmentEpoch: 1,
  metadataVersion: 1_700_000_000_000,
  shardCount: 2,
  activeMigration: null,
  targetAssignmentSummary: { a: 2 },
  currentAssignmentSummary: { a: 2 },
};

const routing: ProducerRouting = {
  streamPrefix: 'orders',
  consumerGroup: 'billing',
  metadataVersion: 7,
  shardCount: 2,
  streamKeyPattern: 'orders:{shardIndex}',
  shards: [
    { shardIndex: 0, streamKey: 'orders:0', redisSlot: 8578 },
    { shardIndex: 1, streamKey: 'orders:1', redisSlot: 12707 },
  ],
};

const body: HeartbeatBody = {
  protocolVersion: 1,
  requestId: 'r-1',
  memberId: 'host:1-m0',
  memberEpoch: 0,
  metadataVersion: 0,
  runtimeConsumerCapacity: { runtimeMaxConcurrency: 1, availableConcurrency: 1 },
};

const answer: HeartbeatAnswer = {
  responseTo: 'r-1',
  status: 'OK',
  memberId: 'host:1-m0',
  memberEpoch: 5,
  heartbeatIntervalMs: 3_000,
  rebalanceTimeoutMs: 60_000,
  groupEpoch: 1,
  assignmentEpoch: 1,
  metadataVersion: 7,
  assignment: { assignedShards: [{ shardIndex: 0 }], pendingShards: [], metadataVersion: 7 },
};

const terminating = {
  status: 503,
  headers: { 'retry-after': '2', 'x-request-id': 'q-9' },
  body: {
    status: 'SERVICE_UNAVAILABLE',
    errorCode: 'COORDINATOR_TERMINATING',
    message: 'bye',
    retryable: true,
  },
};

describe('CoordinatorClient calls', () => {
  it('send the method, path and body of the contract', async () => {
    const stub = await stubOf((request) => {
      if (request.method === 'DELETE') return { body: group };
      if (request.url.endsWith('/heartbeat')) return { body: answer };
      if (request.url.includes('producer-routing')) return { body: routing };
      if (request.url.includes('/members')) return { body: { members: [] } };
      if (request.url.includes('/assignments')) {
        const empty = { targetAssignment: {}, currentAssignments: {}, revokeProgress: {} };
        return { body: { ...empty, invariantViolations: [] } };
      }
      if (request.url.includes('/monitoring/groups')) return { body: { groups: [group] } };
      if (request.url.endsWith('/explain')) return { body: { ...group, shards: [], members: [] } };
      if (request.url.endsWith('/metadata')) return { body: { ...group, format: 'group/1' } };
      if (request.url.endsWith('/repair')) return { body: { added: 2 } };
      if (request.url.endsWith('/health')) return { body: { status: 'UP', coordinatorId: 'c-1' } };
      if (request.url.endsWith('/compatibility')) {
        const versions = { currentCoordinationVersion: 1, supportedCoordinationVersions: { min: 1, max: 1 } };
        return { body: versions };
      }
      return { status: request.method === 'POST' ? 201 : 200, body: group };
    });
    const client = clientOf(`${stub.url}/`);
    const why = { requestedBy: 'ann', reason: 'test' };
    await client.createStream('orders', { requestedBy: 'ann', initialShardCount: 2 });
    await client.createGroup('orders', 'billing', { requestedBy: 'ann' });
    await client.group('orders', 'billing');
    await client.heartbeat('orders', 'billing', 'host:1-m0', body);
    await client.producerRouting('orders', 'billing', { metadataVersion: 3, maxObservedVersion: 4 });
    await client.health();
    await client.compatibility();
    await client.groups({ state: 'STABLE', cursor: 'a b' });
    await client.monitoredGroup('orders', 'billing');
    await client.members('orders', 'billing');
    await client.assignments('orders', 'billing');
    await client.fenceMember('orders', 'billing', 'host:1-m0', why);
    await client.deleteGroup('orders', 'billing', { ...why, force: true });
    await client.explain('orders', 'billing');
    const document = await client.exportGroup('orders', 'billing');
    await client.restoreGroup('orders', 'billing', { ...why, document });
    await client.repairIndex(why);
    const root = '/coord/v1/streams/orders';
    expect(stub.requests.map(({ method, url, body: sent }) => [method, url, sent])).toEqual([
      ['POST', root, { requestedBy: 'ann', initialShardCount: 2 }],
      ['POST', `${root}/groups/billing`, { requestedBy: 'ann' }],
      ['GET', `${root}/groups/billing`, undefined],
      ['POST', `${root}/groups/billing/members/host%3A1-m0/heartbeat`, body],
      ['GET', `${root}/groups/billing/producer-routing?metadataVersion=3&maxObservedVersion=4`, undefined],
      ['GET', '/coord/v1/monitoring/health', undefined],
      ['GET', '/coord/v1/monitoring/compatibility', undefined],
      ['GET', '/coord/v1/monitoring/groups?state=STABLE&cursor=a%20b', undefined],
      ['GET', '/coord/v1/monitoring/streams/orders/groups/billing', undefined],
      ['GET', '/coord/v1/monitoring/streams/orders/groups/billing/members', undefined],
      ['GET', '/coord/v1/monitoring/streams/orders/groups/billing/assignments', undefined],
      ['DELETE', `${root}/groups/billing/members/host%3A1-m0`, why],
      ['DELETE', `${root}/groups/billing`, { ...why, force: true }],
      ['GET', '/coord/v1/monitoring/streams/orders/groups/billing/explain', undefined],
      ['GET', `${root}/groups/billing/metadata`, undefined],
      ['POST', `${root}/groups/billing/metadata/restore`, { ...why, document }],
      ['POST', '/coord/v1/index/repair', why],
    ]);
  });

  it('tell the version of every heartbeat of a group to who wants to know it', async () => {
    const stub = await stubOf(() => ({ body: answer }));
    const client = clientOf(stub.url);
    const told: [string, number][] = [];
    const stop = client.onVersion('orders', 'billing', (version) => told.push(['billing', version]));
    client.onVersion('orders', 'other', (version) => told.push(['other', version]));
    await client.heartbeat('orders', 'billing', 'host:1-m0', body);
    stop();
    await client.heartbeat('orders', 'billing', 'host:1-m0', body);
    expect(told).toEqual([['billing', 7]]);
  });

  it('keep the connection open between two calls', async () => {
    const stub = await stubOf(() => ({ body: group }));
    const client = clientOf(stub.url);
    await client.group('orders', 'billing');
    await new Promise((resolve) => setImmediate(resolve)); // the connection is free once its last event was handled
    await client.group('orders', 'billing');
    expect(stub.requests.map(({ connection }) => connection)).toEqual([1, 1]);
  });

  it('refuse names that a path would resolve away', async () => {
    const stub = await stubOf(() => ({ body: group }));
    const client = clientOf(stub.url);
    for (const name of ['', '.', '..']) {
      await failureOf(InvalidOptionsError, client.group(name, 'billing'));
    }
    expect(stub.requests).toEqual([]);
  });
});

describe('CoordinatorClient options', () => {
  it.each([[['not a url']], [['ftp://host']], [['http://ann:secret@host']], [[]]])('refuse %p', (urls) => {
    let failure: unknown;
    try {
      clientOf(urls);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(InvalidOptionsError);
    expect(String(failure)).not.toContain('secret');
  });

  it('refuse a timeout that is none', () => {
    expect(() => clientOf('http://127.0.0.1:1', { timeoutMs: 0 })).toThrow(InvalidOptionsError);
  });
});

describe('CoordinatorClient refusals', () => {
  it('carry status, code, details, retryability, delay and request id', async () => {
    const details = [{ field: 'reason', rule: 'must not be empty' }];
    const refused = { errorCode: 'TOO_MANY_REQUESTS', message: 'slow down', retryable: true, details };
    const headers = { 'retry-after': '3', 'x-request-id': 'q-1' };
    const stub = await stubOf(() => ({ status: 429, headers, body: refused }));
    const call = clientOf(stub.url).createGroup('orders', 'billing', { requestedBy: 'ann' });
    const failure = await failureOf(CoordinatorRequestError, call);
    expect(failure).toMatchObject({
      httpStatus: 429,
      errorCode: 'TOO_MANY_REQUESTS',
      retryable: true,
      details,
      retryAfterMs: 3_000,
      requestId: 'q-1',
    });
    expect(failure.message).toContain('slow down');
    expect(stub.requests.length).toBe(1);
  });

  it.each([
    ['not JSON', { body: '<html>' }, 'not JSON'],
    ['a list', { body: '[]' }, 'is no object'],
    ['a field of the wrong kind', { body: { ...answer, memberEpoch: '5' } }, 'memberEpoch'],
    ['an unknown status', { body: { ...answer, status: 'MAYBE' } }, 'status'],
    [
      'a shard without index',
      { body: { ...answer, assignment: { ...answer.assignment, pendingShards: [{}] } } },
      'assignment.pendingShards[0].shardIndex',
    ],
    ['the answer to another request', { body: { ...answer, responseTo: 'r-0' } }, 'responseTo'],
    ['the answer for another member', { body: { ...answer, memberId: 'b' } }, 'memberId'],
  ])('name what is wrong with a heartbeat answer that is %s', async (_, stubAnswer, named) => {
    const stub = await stubOf(() => stubAnswer);
    const call = clientOf(stub.url).heartbeat('orders', 'billing', 'host:1-m0', body);
    const failure = await failureOf(CoordinatorRequestError, call);
    expect(failure).toMatchObject({ errorCode: 'MALFORMED_ANSWER', httpStatus: 200, retryable: true });
    expect(failure.message).toContain(named);
  });

  it.each([
    [{ ...routing, shardCount: 3 }, 'shards lists 2 of 3'],
    [{ ...routing, shards: [...routing.shards].reverse() }, 'shards[0].shardIndex'],
  ])('name a routing that does not reach every shard by its index', async (wrong, named) => {
    const stub = await stubOf(() => ({ body: wrong }));
    const failure = await failureOf(
      CoordinatorRequestError,
      clientOf(stub.url).producerRouting('orders', 'billing'),
    );
    expect(failure.message).toContain(named);
  });

  it('ignore unknown fields and accept the base fields alone', async () => {
    const stub = await stubOf(() => ({ body: { ...answer, later: { x: 1 } } }));
    const received = await clientOf(stub.url).heartbeat('orders', 'billing', 'host:1-m0', body);
    expect(received.assignment.assignedShards).toEqual([{ shardIndex: 0 }]);
  });

  it('treat an error page of a proxy as a malformed answer', async () => {
    const stub = await stubOf(() => ({ status: 502, body: '<html>bad gateway</html>' }));
    const call = clientOf(stub.url).heartbeat('orders', 'billing', 'host:1-m0', body);
    const failure = await failureOf(CoordinatorRequestError, call);
    expect(failure).toMatchObject({ httpStatus: 502, errorCode: 'MALFORMED_ANSWER', retryable: true });
  });
});

describe('CoordinatorClient with several coordinators', () => {
  it('goes on to the next on 503, and stays there', async () => {
    const first = await stubOf(() => terminating);
    const second = await stubOf(() => ({ body: group }));
    const client = clientOf([first.url, second.url]);
    await client.group('orders', 'billing');
    await client.group('orders', 'billing');
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
  });

  it('carries a call with effect to the next one when it left no trace at the first', async () => {
    const gone = await stubOf(() => ({ body: answer }));
    await gone.stop();
    const closing = await stubOf(() => terminating);
    const third = await stubOf(() => ({ body: answer }));
    const client = clientOf([gone.url, closing.url, third.url]);
    const received = await client.heartbeat('orders', 'billing', 'host:1-m0', body);
    expect(received.memberEpoch).toBe(5);
    expect([closing.requests.length, third.requests.length]).toEqual([1, 1]);
  });

  it('does not repeat a call with effect that may have arrived, and asks the other one next time', async () => {
    const cutting = await stubOf(() => 'cut');
    const other = await stubOf(() => ({ body: answer }));
    const client = clientOf([cutting.url, other.url]);
    await failureOf(CoordinatorUnreachableError, client.heartbeat('orders', 'billing', 'host:1-m0', body));
    expect([cutting.requests.length, other.requests.length]).toEqual([1, 0]);
    await client.heartbeat('orders', 'billing', 'host:1-m0', body);
    expect([cutting.requests.length, other.requests.length]).toEqual([1, 1]);
  });

  it('repeats a GET, each address at most once', async () => {
    const cutting = await stubOf(() => 'cut');
    const busy = await stubOf(() => terminating);
    const client = clientOf([cutting.url, busy.url]);
    const failure = await failureOf(CoordinatorRequestError, client.group('orders', 'billing'));
    expect(failure.retryAfterMs).toBe(2_000);
    expect([cutting.requests.length, busy.requests.length]).toEqual([1, 1]);
  });

  it('repeats a GET once when there is one address, and no call with effect', async () => {
    const stub = await stubOf(() => terminating);
    const client = clientOf(stub.url);
    await failureOf(CoordinatorRequestError, client.group('orders', 'billing'));
    expect(stub.requests.length).toBe(2);
    await failureOf(CoordinatorRequestError, client.heartbeat('orders', 'billing', 'host:1-m0', body));
    expect(stub.requests.length).toBe(3);
  });

  it('does not repeat what is refused for good', async () => {
    const missing = { errorCode: 'GROUP_NOT_FOUND', message: 'no such group', retryable: false };
    const stub = await stubOf(() => ({ status: 404, body: missing }));
    const other = await stubOf(() => ({ body: group }));
    const failure = await failureOf(
      CoordinatorRequestError,
      clientOf([stub.url, other.url]).group('orders', 'x'),
    );
    expect(failure).toMatchObject({ errorCode: 'GROUP_NOT_FOUND', retryable: false });
    expect([stub.requests.length, other.requests.length]).toEqual([1, 0]);
  });
});

describe('CoordinatorClient deadlines', () => {
  it('give up on a coordinator that never answers', async () => {
    const stub = await stubOf(() => 'hang');
    const client = clientOf(stub.url, { timeoutMs: 50 });
    const failure = await failureOf(CoordinatorUnreachableError, client.group('orders', 'billing'));
    expect(failure.message).toContain('no answer within 50 ms');
    expect(failure.addresses).toEqual([stub.url]);
  });

  it('give a long poll its waiting time on top', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const stub = await stubOf(async () => {
      await held;
      return { body: answer };
    });
    const client = clientOf(stub.url, { timeoutMs: 40 });
    const poll = client.heartbeat('orders', 'billing', 'host:1-m0', { ...body, waitMs: 60_000 });
    const plain = client.heartbeat('orders', 'billing', 'host:1-m0', body);
    await failureOf(CoordinatorUnreachableError, plain); // by now the plain timeout is over
    release();
    expect((await poll).status).toBe('OK');
  });

  it('end at once with the reason of an aborted signal, before and during the call', async () => {
    const stub = await stubOf(() => 'hang');
    const client = clientOf(stub.url);
    const reason = new Error('stopping');
    await expect(client.group('orders', 'billing', { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(stub.requests.length).toBe(0);
    const controller = new AbortController();
    stub.handler = () => {
      controller.abort(reason);
      return 'hang';
    };
    await expect(client.group('orders', 'billing', { signal: controller.signal })).rejects.toBe(reason);
    expect(stub.requests.length).toBe(1);
  });

  it('cover an answer that begins and does not end', async () => {
    const stub = await stubOf(() => ({ headers: { 'content-length': '1000' }, body: '{' }));
    const client = clientOf(stub.url, { timeoutMs: 50 });
    await failureOf(CoordinatorUnreachableError, client.group('orders', 'billing'));
  });
});
