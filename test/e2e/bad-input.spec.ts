import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Answer,
  type CoordinatorApp,
  errorOf,
  heartbeatOf,
  startCoordinatorApp,
} from '../support/coordinator-app';
import { contentsOf } from '../support/redis-contents';
import { type RedisServer, startRedisServer } from '../support/redis-server';

const GROUP = '/coord/v1/streams/orders/groups/g';
const HEARTBEAT = `${GROUP}/members/m1/heartbeat`;

/** As they stand in the JSON text: what JavaScript would round or refuse must arrive as it was written. */
const WRONG_NUMBERS = [
  ...[
    '"5"',
    '5.5',
    '-2',
    '1e21',
    '9007199254740993',
    'null',
    '[5]',
    '""',
    '"0x10"',
    'true',
    '{}',
    '[]',
    '"NaN"',
  ],
];
const NUMBER_FIELDS = ['protocolVersion', 'memberEpoch', 'metadataVersion'];
const OPTIONAL_NUMBER_FIELDS = ['previousEpoch', 'maxObservedVersion', 'waitMs'];

const WRONG_NAMES = [
  ['too long', 'a'.repeat(201)],
  ['unicode', 'größe'],
  ['with braces', 'a{b}'],
  ['with a slash', 'a/b'],
  ['with a blank', 'a b'],
  ['with NUL', 'a\u0000b'],
  ['with a line break', 'a\nb'],
  ['..', '..'],
  ['__proto__', '__proto__'],
] as const;

describe('bad input', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;
  let before: unknown;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url, { COORD_TICK_INTERVAL_MS: '60000' });
    await coordinator.call('POST', GROUP, { requestedBy: 'test' });
    await coordinator.call('POST', HEARTBEAT, heartbeatOf('m1'));
    before = await contentsOf(redis);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  const send = (
    method: string,
    path: string,
    json: string,
    contentType = 'application/json',
  ): Promise<Answer> =>
    coordinator.call(method, path, undefined, {
      method,
      body: json,
      headers: { 'content-type': contentType },
    });

  /** A JSON text with one value exchanged by another text. */
  const withRaw = (body: Record<string, unknown>, field: string, raw: string): string =>
    JSON.stringify({ ...body, [field]: '\u0001' }).replace('"\\u0001"', raw);

  const expectRefused = async (answer: Answer, field: string, status = 400): Promise<void> => {
    expect({ status: answer.status, code: errorOf(answer).errorCode }).toEqual({
      status,
      code: 'INVALID_REQUEST',
    });
    expect(errorOf(answer).details?.map((detail) => detail.field)).toContain(field);
    expect(await contentsOf(redis)).toEqual(before);
  };

  describe.each([...NUMBER_FIELDS, ...OPTIONAL_NUMBER_FIELDS])('%s of a heartbeat', (field) => {
    const wrong = OPTIONAL_NUMBER_FIELDS.includes(field)
      ? WRONG_NUMBERS.filter((raw) => raw !== 'null')
      : WRONG_NUMBERS;
    it.each(wrong)('is refused as %s, by name, and nothing is written', async (raw) => {
      await expectRefused(await send('POST', HEARTBEAT, withRaw(heartbeatOf('m1'), field, raw)), field);
    });
  });

  it.each(WRONG_NUMBERS)('a count inside an object is refused as %s', async (raw) => {
    const capacity = `{"runtimeMaxConcurrency":1,"availableConcurrency":${raw}}`;
    const json = withRaw(heartbeatOf('m1'), 'runtimeConsumerCapacity', capacity);
    await expectRefused(await send('POST', HEARTBEAT, json), 'runtimeConsumerCapacity.availableConcurrency');
  });

  it.each(WRONG_NUMBERS)('a shard index in a list is refused as %s', async (raw) => {
    const json = withRaw(
      heartbeatOf('m1', { memberEpoch: 7 }),
      'ownedShards',
      `[{"shardIndex":0},{"shardIndex":${raw}}]`,
    );
    await expectRefused(await send('POST', HEARTBEAT, json), 'ownedShards[1].shardIndex');
  });

  it.each(WRONG_NUMBERS.filter((raw) => raw !== 'null'))('a shard count is refused as %s', async (raw) => {
    const json = withRaw({ requestedBy: 'test' }, 'initialShardCount', raw);
    await expectRefused(await send('POST', '/coord/v1/streams/new', json), 'initialShardCount');
  });

  it.each(['0', '4097', '16385'])('a shard count of %s is refused', async (raw) => {
    const json = withRaw({ requestedBy: 'test' }, 'initialShardCount', raw);
    await expectRefused(await send('POST', '/coord/v1/streams/new', json), 'initialShardCount');
  });

  it.each(WRONG_NUMBERS.filter((raw) => raw !== 'null'))(
    'expectedMetadataVersion is refused as %s',
    async (raw) => {
      const json = withRaw({ requestedBy: 'test', reason: 'x' }, 'expectedMetadataVersion', raw);
      await expectRefused(await send('DELETE', GROUP, json), 'expectedMetadataVersion');
    },
  );

  it.each(['"5"', '5.5', '-2', '1e21', '9007199254740993', '', '0x10', '[5]', '+5', ' 5', '05'])(
    'metadataVersion of a query is refused as %j',
    async (text) => {
      const path = `${GROUP}/producer-routing?metadataVersion=${encodeURIComponent(text)}`;
      await expectRefused(await coordinator.call('GET', path), 'metadataVersion');
    },
  );

  it('metadataVersion of a query is refused when it is there twice', async () => {
    const path = `${GROUP}/producer-routing?metadataVersion=1&metadataVersion=2`;
    await expectRefused(await coordinator.call('GET', path), 'metadataVersion');
  });

  describe.each(WRONG_NAMES)('a name %s', (_kind, name) => {
    const inPath = encodeURIComponent(name);
    // This client resolves two dots away before it sends them; http-shape.spec.ts sends them as they are.
    const isSendable = name !== '..';

    it('is refused in a body, by its field, and nothing is written', async () => {
      await expectRefused(await coordinator.call('POST', HEARTBEAT, heartbeatOf(name)), 'memberId');
      const stream = { requestedBy: 'test', consumerGroup: name };
      await expectRefused(await coordinator.call('POST', '/coord/v1/streams/new', stream), 'consumerGroup');
    });

    it('is refused in a path, by its field, or does not reach a route', async () => {
      const created = await coordinator.call('POST', `/coord/v1/streams/${inPath}`, { requestedBy: 'test' });
      const beat = heartbeatOf('m1');
      const group = await coordinator.call(
        'POST',
        `/coord/v1/streams/orders/groups/${inPath}/members/m1/heartbeat`,
        beat,
      );
      const member = await coordinator.call('POST', `${GROUP}/members/${inPath}/heartbeat`, beat);
      if (isSendable) {
        await expectRefused(created, 'streamPrefix');
        await expectRefused(group, 'consumerGroup');
        await expectRefused(member, 'memberId');
      }
      expect([created, group, member].map((answer) => answer.status >= 400 && answer.status < 500)).toEqual([
        true,
        true,
        true,
      ]);
      expect(await contentsOf(redis)).toEqual(before);
    });
  });

  it('an empty name is refused by its field', async () => {
    await expectRefused(
      await coordinator.call('POST', '/coord/v1/streams//groups/g', { requestedBy: 'test' }),
      'streamPrefix',
    );
    await expectRefused(
      await coordinator.call('POST', '/coord/v1/streams/', { requestedBy: 'test' }),
      'streamPrefix',
    );
    await expectRefused(
      await coordinator.call('POST', `${GROUP}/members//heartbeat`, heartbeatOf('m1')),
      'memberId',
    );
    await expectRefused(await coordinator.call('POST', HEARTBEAT, heartbeatOf('')), 'memberId');
  });

  it.each([
    ['requestId', 'r'.repeat(201)],
    ['requestId', ''],
    ['memberName', 'n'.repeat(201)],
    ['instanceId', 'i'.repeat(201)],
    ['instanceId', ''],
  ])('%s of a wrong length is refused', async (field, text) => {
    await expectRefused(
      await coordinator.call('POST', HEARTBEAT, heartbeatOf('m1', { [field]: text })),
      field,
    );
  });

  it('a list that is too long is refused', async () => {
    const ownedShards = Array.from({ length: 32_769 }, () => ({ shardIndex: 0 }));
    await expectRefused(
      await coordinator.call('POST', HEARTBEAT, heartbeatOf('m1', { ownedShards })),
      'ownedShards',
    );
  });

  it.each(['requestedBy', 'reason'])('a mutation without %s is refused', async (field) => {
    const body: Record<string, unknown> = { requestedBy: 'test', reason: 'x', [field]: undefined };
    await expectRefused(await coordinator.call('DELETE', GROUP, body), field);
    await expectRefused(await coordinator.call('DELETE', `${GROUP}/members/m1`, body), field);
  });

  it.each(['"text"', '5', 'null', 'true', '[]', '[{"requestedBy":"test"}]'])(
    'a body that is %s is refused',
    async (json) => {
      await expectRefused(await send('POST', '/coord/v1/streams/new', json), 'body');
      await expectRefused(await send('POST', HEARTBEAT, json), 'body');
    },
  );

  it('a body that nests deeper than anything here is refused, also in an unknown field', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    await expectRefused(await send('POST', HEARTBEAT, withRaw(heartbeatOf('m1'), 'unknown', deep)), 'body');
    await expectRefused(
      await send('POST', '/coord/v1/streams/new', `{"requestedBy":"x","a":${deep}}`),
      'body',
    );
  });

  it('a body with an evil constructor does not reach anybody who would call it', async () => {
    const json = '{"requestedBy":{"constructor":1},"reason":{"constructor":"x"}}';
    await expectRefused(await send('DELETE', GROUP, json), 'requestedBy');
  });

  it.each([
    ['truncated', '{"requestedBy":"te', 'application/json', 400, 'INVALID_REQUEST'],
    ['not JSON', 'requestedBy: test', 'application/json', 400, 'INVALID_REQUEST'],
    ['empty', '', 'application/json', 400, 'INVALID_REQUEST'],
    ['with __proto__', '{"requestedBy":"x","__proto__":{"a":1}}', 'application/json', 400, 'INVALID_REQUEST'],
    [
      'huge',
      JSON.stringify({ requestedBy: 'x'.repeat(1_100_000) }),
      'application/json',
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    ['of another type', '{"requestedBy":"x"}', 'text/plain', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of a form', 'requestedBy=x', 'application/x-www-form-urlencoded', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ])(
    'a body that is %s is refused in the shape of the contract',
    async (_kind, text, type, status, errorCode) => {
      for (const [method, path] of [
        ['POST', '/coord/v1/streams/new'],
        ['DELETE', GROUP],
        ['POST', HEARTBEAT],
      ] as const) {
        const answer = await send(method, path, text, type);
        expect(answer).toMatchObject({ status, body: { errorCode, retryable: false } });
      }
      expect(await contentsOf(redis)).toEqual(before);
    },
  );
});
