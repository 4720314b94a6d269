import { describe, expect, it } from '@jest/globals';
import type { MemberId } from '../../../src/domain/ids';
import { heartbeatConflicts } from '../../../src/membership/heartbeat-conflicts';
import { heartbeatRequestOf } from '../../../src/membership/heartbeat-request';
import type { HeartbeatBody } from '../../../src/protocol';

const MEMBER = 'm1' as MemberId;

function bodyOf(more: Partial<HeartbeatBody> = {}): HeartbeatBody {
  return {
    protocolVersion: 1,
    requestId: 'r',
    memberId: 'm1',
    memberEpoch: 7,
    metadataVersion: 9,
    runtimeConsumerCapacity: { runtimeMaxConcurrency: 4, availableConcurrency: 2 },
    ...more,
  };
}

const shard = (shardIndex: number) => ({ shardIndex });
const fieldsOf = (body: HeartbeatBody, maxShardCount = 8): string[] =>
  heartbeatConflicts(body, 'm1', maxShardCount).map(({ field }) => field);

describe('a heartbeat in the terms of the domain', () => {
  it('makes one of absent and null', () => {
    const absent = heartbeatRequestOf(bodyOf(), MEMBER);
    const nulls = { memberName: null, ownedShards: null, revokingShards: null, shardProgress: null };
    expect(heartbeatRequestOf(bodyOf({ ...nulls, instanceId: null, previousEpoch: null }), MEMBER)).toEqual(
      absent,
    );
    expect(absent).toMatchObject({
      owned: null,
      revoking: null,
      progress: [],
      instanceId: null,
      maxConcurrency: 4,
    });
  });

  it('tells an empty list from no list', () => {
    const request = heartbeatRequestOf(bodyOf({ ownedShards: [], revokingShards: [] }), MEMBER);
    expect([request.owned?.size, request.revoking?.size]).toEqual([0, 0]);
  });

  it('merges repeats, and of two reports on a shard believes the one with more in flight', () => {
    const revoked = (inFlight: number) => ({ shard: shard(1), state: 'REVOKED' as const, inFlight });
    const request = heartbeatRequestOf(
      bodyOf({
        ownedShards: [shard(3), shard(0), shard(3)],
        revokingShards: [revoked(0), revoked(2), revoked(0)],
      }),
      MEMBER,
    );
    expect([...(request.owned ?? [])]).toEqual([3, 0]);
    expect([...(request.revoking ?? [])]).toEqual([[1, { state: 'REVOKED', inFlight: 2 }]]);
  });

  it('keeps of progress only what the contract names', () => {
    const progress = { shard: shard(0), streamKey: 's:0', pendingCount: 1, secret: 'x' };
    const [kept] = heartbeatRequestOf(bodyOf({ shardProgress: [progress] }), MEMBER).progress;
    expect(kept).toEqual({
      shard: shard(0),
      streamKey: 's:0',
      pendingCount: 1,
      lastDeliveredId: null,
      lastAckedId: null,
      updatedAt: null,
    });
  });
});

describe('what a heartbeat must not say together', () => {
  it('accepts unsorted lists and harmless repeats', () => {
    const twice = { shard: shard(2), state: 'DRAINING' as const, inFlight: 1 };
    const body = bodyOf({ ownedShards: [shard(7), shard(0), shard(7)], revokingShards: [twice, twice] });
    expect(fieldsOf(body)).toEqual([]);
  });

  it('names every index that is not below the most shards there may be', () => {
    const progress = { shard: shard(9), streamKey: 's', pendingCount: 0 };
    const revoking = { shard: shard(10), state: 'REVOKING' as const, inFlight: 0 };
    const body = bodyOf({
      ownedShards: [shard(7), shard(8)],
      revokingShards: [revoking],
      shardProgress: [progress],
    });
    expect(fieldsOf(body)).toEqual([
      'ownedShards[1].shardIndex',
      'revokingShards[0].shard.shardIndex',
      'shardProgress[0].shard.shardIndex',
    ]);
  });

  it('refuses owned shards in a join only when there are some', () => {
    expect(fieldsOf(bodyOf({ memberEpoch: 0, ownedShards: [] }))).toEqual([]);
    expect(fieldsOf(bodyOf({ memberEpoch: 0, ownedShards: [shard(0)] }))).toEqual(['ownedShards']);
  });
});
