import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CoordinatorCallOptions } from '../../../../src/client/consumer/coordinator-port';
import { HeartbeatLoop } from '../../../../src/client/consumer/heartbeat-loop';
import { MemberSession } from '../../../../src/client/consumer/member-session';
import type { SessionCommand } from '../../../../src/client/consumer/session-commands';
import type { HeartbeatAnswer, HeartbeatBody } from '../../../../src/protocol';
import { ManualClock, settle } from '../../../support/manual-clock';
import { words } from './session-bench';

interface Call {
  readonly body: HeartbeatBody;
  readonly options: CoordinatorCallOptions;
  readonly answer: (assigned: readonly number[], version?: number) => void;
  readonly fail: () => void;
}

const TIMING = { heartbeatIntervalMs: 3_000, memberLeaseTtlMs: 15_000, rebalanceTimeoutMs: 60_000 };

let clock: ManualClock;
let calls: Call[];
let commands: SessionCommand[];
let failures: unknown[];
let loop: HeartbeatLoop;

function answerTo(body: HeartbeatBody, assigned: readonly number[], version: number): HeartbeatAnswer {
  return {
    ...{
      responseTo: body.requestId,
      status: 'OK',
      memberId: 'm0',
      memberEpoch: 101,
      metadataVersion: version,
    },
    ...{ heartbeatIntervalMs: 3_000, rebalanceTimeoutMs: 60_000, leaseTtlMs: 15_000 },
    ...{ groupEpoch: 1, assignmentEpoch: 1 },
    assignment: {
      assignedShards: assigned.map((shardIndex) => ({ shardIndex })),
      pendingShards: [],
      revokingShards: [],
      metadataVersion: version,
    },
  };
}

beforeEach(() => {
  clock = new ManualClock();
  calls = [];
  commands = [];
  failures = [];
  let ids = 0;
  const session = new MemberSession(
    {
      ...{ memberId: 'm0', memberName: null, timing: TIMING, longPoll: true },
      newId: () => `id-${(ids += 1)}`,
      random: () => 0,
    },
    { inFlight: () => 0, availableConcurrency: () => 1, progress: () => [] },
  );
  const coordinator = {
    heartbeat: async (_stream: string, _group: string, _member: string, body: HeartbeatBody, options = {}) =>
      new Promise<HeartbeatAnswer>((resolve, reject) => {
        calls.push({
          ...{ body, options },
          answer: (assigned, version = 11) => resolve(answerTo(body, assigned, version)),
          fail: () => reject(new Error('away')),
        });
      }),
    producerRouting: async () => ({ shardCount: 1 }),
  };
  loop = new HeartbeatLoop(session, coordinator, clock, {
    ...{ streamPrefix: 's', consumerGroup: 'g', memberId: 'm0', requestTimeoutMs: 2_000 },
    execute: (command) => commands.push(command),
    onAnswer: () => undefined,
    onFailure: (error) => failures.push(error),
  });
});

const last = (): Call => calls.at(-1)!;

describe('the heartbeat loop', () => {
  it('sends the join at once, carries out what the answer asks for, and goes on with a long poll', async () => {
    loop.start();
    expect(calls.length).toBe(1);
    last().answer([0]);
    await settle();
    expect(words(commands)).toEqual(['TENURE_STARTED', 'LEASE_RENEWED', 'START 0']);
    expect(last().body.waitMs).toBe(3_000);
    expect(last().options.timeoutMs).toBe(3_000 + 2_000);
  });

  it('aborts a waiting poll to report, and never applies what it brings', async () => {
    loop.start();
    last().answer([0]);
    await settle();
    last().answer([], 12);
    await clock.advance(5); // polls keep their distance
    const waiting = last();
    loop.shardStopped(0 as never);
    expect(waiting.options.signal?.aborted).toBe(true);
    expect(last().body.revokingShards).toEqual([{ shard: { shardIndex: 0 }, state: 'REVOKED', inFlight: 0 }]);
    const before = commands.length;
    waiting.answer([0, 1], 13);
    await settle();
    expect(commands.length).toBe(before);
  });

  it('tries again after a failure, and ends the tenure on its own when the lease is over', async () => {
    loop.start();
    last().answer([0]);
    await settle();
    const asked = calls.length;
    for (let i = 0; i < 3; i += 1) {
      last().fail();
      await clock.advance(1_000);
    }
    expect(calls.length).toBe(asked + 3);
    expect(failures.length).toBe(3);
    await clock.advance(15_000); // the last request hangs
    expect(words(commands).slice(3)).toEqual(['STOP_ALL LEASE_OVER']);
    expect(last().body.memberEpoch).toBe(0);
  });

  it('sets no timer any more once the session has ended', async () => {
    loop.start();
    last().answer([]);
    await settle();
    loop.stop();
    last().answer([]);
    await settle();
    expect(words(commands)).toContain('ENDED');
    expect(clock.timerCount).toBe(0);
  });
});
