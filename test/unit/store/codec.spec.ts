import { describe, expect, it } from '@jest/globals';
import type { MemberEpoch, MetadataVersion } from '../../../src/domain/epochs';
import type { GroupMetadata } from '../../../src/domain/group/group-metadata';
import { epochMillis } from '../../../src/domain/time';
import { decodeAggregate } from '../../../src/store/aggregate-reader';
import { encodeAggregate, LAYOUT_VERSION, SCHEMA_VERSION } from '../../../src/store/aggregate-writer';
import { decodeReport, encodeReport, readStoredGroup, type StoredGroup } from '../../../src/store/codec';
import { freshKey, groupOf, memberId, memberOf, reportOf } from '../../contract/group-fixtures';

const NOW_MS = 1_750_000_000_000;
const [ANNA, BERT] = ['anna', 'bert'].map(memberId) as [
  ReturnType<typeof memberId>,
  ReturnType<typeof memberId>,
];

/** One shard of every kind, and members in every state. */
function richGroup(): GroupMetadata {
  const group = groupOf(freshKey(), [ANNA, BERT], NOW_MS, 4);
  const [held, drained, free, blocked] = group.shards;
  const drain = { recordedVersion: NOW_MS as MetadataVersion, deadlineMs: epochMillis(NOW_MS + 5) };
  const untilMs = epochMillis(NOW_MS + 9);
  return {
    ...group,
    shards: [
      held!,
      { ...drained!, target: ANNA, occupancy: { kind: 'HELD', memberId: BERT, drain } },
      free!,
      {
        ...blocked!,
        occupancy: { kind: 'BLOCKED', memberId: memberId('carl'), memberEpoch: 7 as MemberEpoch, untilMs },
      },
    ],
    members: new Map([
      [ANNA, { ...memberOf(ANNA, 'STARTING', NOW_MS), memberName: null, instanceId: null }],
      [BERT, { ...memberOf(BERT, 'LEAVING', NOW_MS), memberName: '' }],
      [memberId('carl'), memberOf(memberId('carl'), 'FENCED', NOW_MS)],
      [memberId('dora'), memberOf(memberId('dora'), 'EXPIRED', NOW_MS)],
    ]),
  };
}

const LEASES = [ANNA, String(NOW_MS + 1), BERT, String(NOW_MS + 2)];

function storedOf(group: GroupMetadata, parts: Partial<StoredGroup> = {}): StoredGroup {
  return {
    aggregate: encodeAggregate(group),
    revision: String(group.storeRevision),
    writeId: group.writeId,
    schemaVersion: SCHEMA_VERSION,
    layoutVersion: LAYOUT_VERSION,
    updatedAt: String(group.updatedAtMs),
    redisId: group.redisId,
    ...parts,
  };
}

/** The same in a correction round, with all that is recorded of one. */
function correctedGroup(): GroupMetadata {
  const group = richGroup();
  const [first, ...rest] = group.shards;
  const memberEpoch = 9 as MemberEpoch;
  const anna = group.members.get(ANNA)!;
  return {
    ...group,
    shards: [
      {
        ...first!,
        conflicts: [
          { memberId: BERT, memberEpoch, untilMs: null },
          { memberId: memberId('carl'), memberEpoch, untilMs: epochMillis(NOW_MS + 9) },
        ],
      },
      ...rest,
    ],
    members: new Map(group.members).set(ANNA, {
      ...anna,
      correctedAtMs: epochMillis(NOW_MS - 3),
      lostVersion: NOW_MS - 5,
    }),
    correction: {
      cause: 'REDIS_ID',
      roundVersion: NOW_MS as MetadataVersion,
      startedAtMs: epochMillis(NOW_MS),
      observedVersion: null,
      silentUntilMs: epochMillis(NOW_MS + 1),
      synced: new Set([ANNA]),
    },
    rounds: {
      lastRoundVersion: NOW_MS as MetadataVersion,
      lastObservedVersion: NOW_MS - 7,
      strangerAtMs: epochMillis(NOW_MS - 2),
    },
  };
}

/** The stored form after somebody replaced `from` by `to` in it. */
function tampered(group: GroupMetadata, from: string | RegExp, to: string): unknown {
  const aggregate = encodeAggregate(group).replace(from, to);
  expect(aggregate).not.toBe(encodeAggregate(group));
  return readStoredGroup(group, storedOf(group, { aggregate }), LEASES);
}

describe('the codec', () => {
  it('returns what was written, shards of every kind and members in every state', () => {
    const group = richGroup();
    expect(decodeAggregate(encodeAggregate(group), group.redisId)).toEqual(group);
    expect(readStoredGroup(group, storedOf(group), LEASES)).toEqual({
      kind: 'READ',
      metadata: group,
      leases: new Map([
        [ANNA, NOW_MS + 1],
        [BERT, NOW_MS + 2],
      ]),
    });
  });

  it('returns what was written of a correction round, and the Redis that took the write', () => {
    const group = { ...correctedGroup(), redisId: 'node-2/repl-7' };
    expect(readStoredGroup(group, storedOf(group), LEASES)).toMatchObject({ kind: 'READ', metadata: group });
  });

  it('reads what builds wrote that knew no correction round, and writes it as they did', () => {
    const group = richGroup();
    const json = encodeAggregate(group);
    for (const field of ['correction', 'rounds', 'conflicts', 'correctedAtMs', 'lostVersion', 'redisId']) {
      expect(json).not.toContain(field);
    }
    const read = readStoredGroup(group, storedOf(group, { redisId: null }), LEASES);
    expect(read).toMatchObject({ kind: 'READ', metadata: { ...group, redisId: '' } });
  });

  it('writes the same text for the same value, so that lengths can be compared', () => {
    const group = richGroup();
    expect(encodeAggregate(decodeAggregate(encodeAggregate(group), group.redisId))).toBe(
      encodeAggregate(group),
    );
  });

  it.each([
    ['a number as text', `"shardCount":4`, `"shardCount":"4"`],
    ['a fraction', `"shardCount":4`, `"shardCount":3.5`],
    ['a negative number', `"shardCount":4`, `"shardCount":-1`],
    ['a number beyond 2^53', `"shardCount":4`, `"shardCount":9007199254740993`],
    ['more shards than there are', `"shardCount":4`, `"shardCount":5`],
    ['a field of a later version', `"shardCount":4`, `"shardCount":4,"migration":null`],
    ['a missing field', `"provisioning":"COMPLETE",`, ''],
    ['an unknown word', `"COMPLETE"`, `"MAYBE"`],
    ['an unknown member state', `"FENCED"`, `"LOST"`],
    ['a member that is there twice', `"memberId":"dora"`, `"memberId":"carl"`],
    ['a member id with a brace', `"memberId":"dora"`, `"memberId":"do{ra"`],
    ['the member id __proto__', `"memberId":"dora"`, `"memberId":"__proto__"`],
    ['a field __proto__', `"shardCount":4`, `"shardCount":4,"__proto__":{"polluted":true}`],
    ['a member __proto__', `"shards":[`, `"shards":[{"__proto__":{"target":null,"token":1}},`],
    ['a shard that is held and blocked', `"blocked":`, `"holder":"anna","blocked":`],
    ['a drain without a holder', `"holder":"bert",`, ''],
    ['versions that do not ascend', `"recentVersions":[`, `"recentVersions":[${NOW_MS + 1},`],
    ['another group', `"consumerGroup":"billing"`, `"consumerGroup":"other"`],
    ['another revision', `"storeRevision":${NOW_MS}`, `"storeRevision":1`],
    ['a target that is no live member', `"target":"anna"`, `"target":"dora"`],
    ['cut off', /.{20}$/, ''],
    ['an unknown cause of a round', `"cause":"REDIS_ID"`, `"cause":"BOREDOM"`],
    ['a round without its version', `"roundVersion":${NOW_MS},`, ''],
    ['a round with a field of a later version', `"cause":"REDIS_ID"`, `"cause":"REDIS_ID","mood":1`],
    ['a round that names a member twice', `"synced":["anna"]`, `"synced":["anna","anna"]`],
    ['a round that names an impossible member', `"synced":["anna"]`, `"synced":["a{"]`],
    ['a history of rounds that lacks a field', `"lastObservedVersion":${NOW_MS - 7},`, ''],
    ['a conflict without its end', `"memberEpoch":9,"untilMs":null`, `"memberEpoch":9`],
    ['a conflict that is no object', `"conflicts":[`, `"conflicts":[null,`],
    ['a time of correction that is no number', `"correctedAtMs":${NOW_MS - 3}`, `"correctedAtMs":"now"`],
  ])('refuses an aggregate with %s', (_what, from, to) => {
    expect(tampered(correctedGroup(), from, to)).toMatchObject({
      kind: 'CORRUPT',
      reason: expect.any(String),
    });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each([
    ['that is no number', [ANNA, 'soon', BERT, '1']],
    ['in exponent form', [ANNA, '1e14', BERT, '1']],
    ['of an impossible member', ['a{b', '1', ANNA, '1', BERT, '1']],
    ['of a stranger', [...LEASES, 'zoe', '1']],
  ])('refuses a lease %s', (_what, leases) => {
    const group = richGroup();
    expect(readStoredGroup(group, storedOf(group), leases)).toMatchObject({ kind: 'CORRUPT' });
  });

  it('says which schema and layout it does not know, whatever else is stored', () => {
    const group = richGroup();
    const stored = storedOf(group, { schemaVersion: '2', aggregate: 'of a later version' });
    expect(readStoredGroup(group, stored, ['?'])).toEqual({
      kind: 'SCHEMA_UNSUPPORTED',
      schemaVersion: '2',
      layoutVersion: LAYOUT_VERSION,
    });
  });

  it('keeps reports, and skips what is no report', () => {
    expect(decodeReport(encodeReport(reportOf(NOW_MS)))).toEqual(reportOf(NOW_MS));
    for (const text of ['', 'null', '{}', '{"receivedAtMs":"1","availableConcurrency":1,"progress":[]}']) {
      expect(decodeReport(text)).toBeNull();
    }
  });

  it('costs at most a few times the bare JSON, with 1,000 members and 4,096 shards', () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => memberId(`consumer-${index}`));
    const group = groupOf(freshKey(), ids, NOW_MS, 4_096);
    const json = encodeAggregate(group);
    const bareMs = fastestOf(() => JSON.stringify(JSON.parse(json)));
    const codecMs = fastestOf(() => encodeAggregate(decodeAggregate(json, '')));
    expect(codecMs).toBeLessThan(5 * bareMs); // some 1.5 times on an idle machine
  });
});

/** Of several rounds, so that other work on the machine does not count. */
function fastestOf(work: () => unknown): number {
  let fastestMs = Infinity;
  for (let round = 0; round < 20; round += 1) {
    const startedMs = performance.now();
    work();
    fastestMs = Math.min(fastestMs, performance.now() - startedMs);
  }
  return fastestMs;
}
