import { describe, expect, it } from '@jest/globals';
import { WAIT_REASONS as DOMAIN_REASONS } from '../../../src/domain/group/shard-wait';
import type { ConsumerGroup, ShardIndex, StreamPrefix } from '../../../src/domain/ids';
import type { EpochMillis } from '../../../src/domain/time';
import { StreamFlows, type FlowQuestion } from '../../../src/monitoring/stream-flows';
import {
  consumersIdleMs,
  entryTimeMs,
  firstEntryId,
  groupInfo,
} from '../../../src/monitoring/stream-replies';
import { WAIT_REASONS } from '../../../src/protocol';
import type { PipelineReply, RedisCommandLine } from '../../../src/redis/redis-commands';
import type { RedisConnections } from '../../../src/redis/redis-connections';
import { RedisFaultError } from '../../../src/redis/redis-fault';

const NOW_MS = 1_800_000_000_000;
const STALL_MS = 60_000;
const shard = { target: null, occupancy: { kind: 'FREE' }, conflicts: [], lastToken: 1 } as never;

function fault(kind: 'CONNECTION' | 'NOT_PERMITTED'): RedisFaultError {
  return new RedisFaultError('explain streams', kind, true, { cause: new Error(kind) });
}

function flowsOf(answer: (line: RedisCommandLine) => unknown) {
  const asked: RedisCommandLine[] = [];
  const pipelines: number[] = [];
  const commands = {
    pipeline: (_operation: string, lines: readonly RedisCommandLine[]): Promise<readonly PipelineReply[]> => {
      pipelines.push(lines.length);
      asked.push(...lines);
      return Promise.resolve(
        lines.map((line) => {
          const value = answer(line);
          return value instanceof RedisFaultError ? { error: value } : { value };
        }),
      );
    },
  };
  const flows = new StreamFlows({ commands } as unknown as RedisConnections);
  return { flows, asked, pipelines };
}

function question(shardCount: number, more: Partial<FlowQuestion> = {}): FlowQuestion {
  return {
    metadata: {
      streamPrefix: 'orders' as StreamPrefix,
      consumerGroup: 'g' as ConsumerGroup,
      shards: Array.from({ length: shardCount }, () => shard),
    },
    nowMs: NOW_MS as EpochMillis,
    timing: { rebalanceTimeoutMs: STALL_MS },
    movedAtMs: new Map(),
    ...more,
  };
}

const groups = (pending: number, lag: number | null): unknown => [
  ['name', 'other', 'pending', 99, 'last-delivered-id', '9-9', 'lag', 99],
  [
    'name',
    'g',
    'consumers',
    1,
    'pending',
    pending,
    'last-delivered-id',
    '5-0',
    'entries-read',
    1,
    'lag',
    lag,
  ],
];
const consumers = (...times: readonly number[]): unknown =>
  times.map((time, index) => ['name', `m${index}`, 'pending', 0, 'idle', 3, 'inactive', time]);

describe('how the entries of shards move', () => {
  it('is read in one pipeline, and an entry only where it decides', async () => {
    const { flows, asked } = flowsOf(([command, about, key]) => {
      if (command === 'XRANGE') return [[`${NOW_MS - 70_000}-0`, ['payload', 'x']]];
      const [lag, inactive] =
        key === 'orders:0' ? [0, STALL_MS] : key === 'orders:1' ? [2, 100] : [null, STALL_MS];
      return about === 'GROUPS' ? groups(0, lag) : consumers(inactive);
    });
    const read = await flows.read(question(3));
    expect(asked.filter(([command]) => command === 'XRANGE')).toEqual([
      ['XRANGE', 'orders:2', '(5-0', '+', 'COUNT', 1],
    ]);
    expect([...read.values()]).toEqual([
      { lag: 0, pendingCount: 0, lastMoveMs: NOW_MS - STALL_MS, oldestWaitingMs: null },
      { lag: 2, pendingCount: 0, lastMoveMs: NOW_MS - 100, oldestWaitingMs: null },
      { lag: null, pendingCount: 0, lastMoveMs: NOW_MS - STALL_MS, oldestWaitingMs: NOW_MS - 70_000 },
    ]);
  });

  it('believes an owner that says when it moved', async () => {
    const { flows } = flowsOf(([, about]) => (about === 'GROUPS' ? groups(1, 0) : consumers(STALL_MS)));
    const movedAtMs = new Map([[0 as ShardIndex, (NOW_MS - 5) as EpochMillis]]);
    const read = await flows.read(question(1, { movedAtMs }));
    expect(read.get(0 as ShardIndex)).toMatchObject({ pendingCount: 1, lastMoveMs: NOW_MS - 5 });
  });

  it('is missing for a shard that Redis does not tell of', async () => {
    const { flows } = flowsOf(([, about, key]) => {
      if (key === 'orders:0') return fault('NOT_PERMITTED');
      return about === 'GROUPS' ? groups(1, 1) : key === 'orders:1' ? fault('NOT_PERMITTED') : consumers();
    });
    const read = await flows.read(question(3));
    expect([...read]).toEqual([[2, { lag: 1, pendingCount: 1, lastMoveMs: null, oldestWaitingMs: null }]]);
  });

  it('is empty when Redis is gone, and no more than a bounded number of commands at once', async () => {
    const gone = { pipeline: () => Promise.reject(fault('CONNECTION')) };
    const flows = new StreamFlows({ commands: gone } as unknown as RedisConnections);
    expect((await flows.read(question(3))).size).toBe(0);
    const large = flowsOf(([command, about]) => {
      if (command === 'XRANGE') return [];
      return about === 'GROUPS' ? groups(0, 1) : consumers(STALL_MS);
    });
    expect((await large.flows.read(question(1_000))).size).toBe(1_000);
    expect(Math.max(...large.pipelines)).toBe(256);
    expect(large.asked.filter(([command]) => command === 'XRANGE')).toHaveLength(256);
  });
});

describe('what Redis answers', () => {
  it('is nothing when it has another shape', () => {
    expect(groupInfo(null, 'g')).toBeNull();
    expect(groupInfo(groups(0, 0), 'none')).toBeNull();
    expect(groupInfo(['x'], 'g')).toBeNull();
    expect(consumersIdleMs('x')).toBe('UNKNOWN');
    expect(consumersIdleMs([])).toBeNull();
    expect(firstEntryId([])).toBeNull();
    expect(entryTimeMs('chosen')).toBeNull();
  });

  it('has no `inactive` before Redis 7.2, and -1 for a consumer that was never handed anything', () => {
    expect(consumersIdleMs([['name', 'a', 'idle', 7]])).toBe(7);
    expect(consumersIdleMs(consumers(-1))).toBeNull();
    expect(consumersIdleMs(consumers(-1, 9, 4))).toBe(4);
  });
});

it('the reasons on the wire are those of the domain', () => {
  expect(WAIT_REASONS).toEqual(DOMAIN_REASONS);
});
