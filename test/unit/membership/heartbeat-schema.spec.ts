import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkByClass } from '../../../src/http/validation/class-check';
import { compileCheck } from '../../../src/http/validation/compiled-validator';
import { HeartbeatDto } from '../../../src/membership/heartbeat.dto';

const SEED = 20_240_601;
const BODIES = 1_000;

const compiled = compileCheck(HeartbeatDto);

function fieldsByCompiledSchema(body: unknown): string[] {
  return compiled(body)
    .map((detail) => `${detail.field}: ${detail.rule}`)
    .sort();
}

function fieldsByClassValidator(body: unknown): string[] {
  const outcome = checkByClass(HeartbeatDto, body);
  return 'details' in outcome
    ? outcome.details.map((detail) => `${detail.field}: ${detail.rule}`).sort()
    : [];
}

const index = fc.nat({ max: 5000 });
const safe = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const shard = fc.record({ shardIndex: index });
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const instant = fc.oneof(safe, fc.string({ minLength: 1, maxLength: 64 }));

const validBody = fc.record(
  {
    protocolVersion: safe,
    requestId: fc.string({ minLength: 1, maxLength: 200, unit: 'binary' }),
    memberId: fc.stringMatching(/^[A-Za-z0-9_:@-]{1,200}$/),
    memberName: orNull(fc.string({ maxLength: 200 })),
    memberEpoch: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
    metadataVersion: safe,
    runtimeConsumerCapacity: fc.record({ runtimeMaxConcurrency: safe, availableConcurrency: safe }),
    ownedShards: orNull(fc.array(shard, { maxLength: 5 })),
    revokingShards: orNull(
      fc.array(
        fc.record(
          {
            shard,
            state: fc.constantFrom('REVOKING', 'DRAINING', 'REVOKED'),
            inFlight: safe,
            ackedAt: orNull(instant),
          },
          { requiredKeys: ['shard', 'state', 'inFlight'] },
        ),
        { maxLength: 4 },
      ),
    ),
    shardProgress: orNull(
      fc.array(
        fc.record(
          {
            shard,
            streamKey: fc.string({ minLength: 1, maxLength: 256 }),
            lastDeliveredId: orNull(fc.string({ minLength: 1, maxLength: 64 })),
            pendingCount: safe,
            updatedAt: orNull(instant),
          },
          { requiredKeys: ['shard', 'streamKey', 'pendingCount'] },
        ),
        { maxLength: 4 },
      ),
    ),
    instanceId: orNull(fc.string({ minLength: 1, maxLength: 200 })),
    previousEpoch: orNull(safe),
    maxObservedVersion: orNull(safe),
    waitMs: orNull(safe),
    unknownField: fc.jsonValue(),
  },
  {
    requiredKeys: [
      'protocolVersion',
      'requestId',
      'memberId',
      'memberEpoch',
      'metadataVersion',
      'runtimeConsumerCapacity',
    ],
  },
);

/** Values that are wrong in some place, or look as if they were. */
const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      '5',
      5.5,
      -2,
      -1,
      0,
      1,
      1e21,
      2 ** 53,
      null,
      [5],
      '',
      '0x10',
      true,
      false,
      {},
      [],
      [[]],
      [null],
      'x'.repeat(201),
    ],
    ...[
      { shardIndex: '1' },
      [{ shardIndex: -1 }],
      [[{ shardIndex: 1 }]],
      [{ shardIndex: 1 }, 7],
      { constructor: 'x' },
    ],
    ...['a b', 'a{b}', 'ä', '\u0000', '..', '__proto__', 'REVOKED', 'line\nbreak', '\ud800', { length: 3 }],
  ),
  fc.jsonValue() as fc.Arbitrary<unknown>,
);

/** Every place in a JSON value where something can be exchanged or left out. */
function placesIn(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const children = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...children.flatMap(([key, child]) => placesIn(child, [...path, key]))];
}

function mutated(
  body: unknown,
  place: readonly (string | number)[],
  replacement: { set: unknown } | 'REMOVE',
): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return replacement === 'REMOVE' ? {} : replacement.set;
  const children = body as Readonly<Record<string | number, unknown>>;
  // JSON leaves out what is undefined.
  const exchanged = replacement === 'REMOVE' ? undefined : replacement.set;
  const child = rest.length > 0 ? mutated(children[key], rest, replacement) : exchanged;
  if (Array.isArray(body)) return body.map((item: unknown, position) => (position === key ? child : item));
  return { ...children, [key]: child };
}

const mutation = fc.tuple(
  fc.nat(),
  fc.oneof(
    oddValue.map((set) => ({ set })),
    fc.constant('REMOVE' as const),
  ),
);

const anyBody = fc.tuple(validBody, fc.array(mutation, { maxLength: 3 })).map(([body, mutations]) =>
  mutations.reduce<unknown>((current, [position, replacement]) => {
    const places = placesIn(current);
    return mutated(current, places[position % places.length] ?? [], replacement);
  }, body),
);

describe('the compiled heartbeat schema', () => {
  // As a request would bring them: what JSON cannot say (holes, undefined) is gone.
  const bodies = fc
    .sample(anyBody, { seed: SEED, numRuns: BODIES })
    .map((body) => JSON.parse(JSON.stringify(body)) as unknown);

  it(`accepts, refuses and names the same as class-validator for ${BODIES} generated bodies`, () => {
    const disagreements = bodies.filter(
      (body) => JSON.stringify(fieldsByCompiledSchema(body)) !== JSON.stringify(fieldsByClassValidator(body)),
    );
    expect(
      disagreements
        .slice(0, 3)
        .map((body) => [body, fieldsByCompiledSchema(body), fieldsByClassValidator(body)]),
    ).toEqual([]);
  });

  it('is tried with hundreds of bodies of each kind', () => {
    const accepted = bodies.filter((body) => fieldsByClassValidator(body).length === 0).length;
    expect(accepted).toBeGreaterThan(200);
    expect(BODIES - accepted).toBeGreaterThan(200);
  });

  it('would be caught: a schema with one rule less disagrees somewhere', () => {
    const lax = (body: unknown) =>
      fieldsByCompiledSchema(body).filter((field) => !field.startsWith('memberEpoch'));
    expect(bodies.some((body) => lax(body).length !== fieldsByClassValidator(body).length)).toBe(true);
  });
});
