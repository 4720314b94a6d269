import { beforeEach, describe, expect, it } from '@jest/globals';
import { AckBuffer } from '../../../../src/client/consumer/ack-buffer';
import { FlushTurn } from '../../../../src/client/consumer/flush-turn';
import { ManualClock, settle } from '../../../support/manual-clock';

interface Sent {
  readonly ids: readonly string[];
  readonly answer: () => void;
  readonly fail: () => void;
}

let clock: ManualClock;
let sent: Sent[];
let confirmed: string[];
let refused: number;
let mayAck: boolean;
let settledTimes: number;
let acks: AckBuffer;

beforeEach(() => {
  clock = new ManualClock();
  sent = [];
  confirmed = [];
  refused = 0;
  mayAck = true;
  settledTimes = 0;
  acks = new AckBuffer({
    clock,
    turn: new FlushTurn((work) => work()),
    mayAck: () => mayAck,
    send: async (ids) =>
      new Promise((resolve, reject) => {
        sent.push({ ids, answer: () => resolve(ids.length), fail: () => reject(new Error('away')) });
      }),
    onConfirmed: (ids) => confirmed.push(...ids),
    onRefused: (count) => (refused += count),
    onFailure: () => undefined,
    onSettled: () => (settledTimes += 1),
  });
});

const add = (from: number, to: number): void => {
  for (let n = from; n < to; n += 1) acks.add(`${n}-0`);
};

describe('the acks of a shard', () => {
  it('leave in one batch when it is full, at the end of the turn', async () => {
    add(0, 99);
    await settle();
    expect(sent).toEqual([]);
    add(99, 100);
    await settle();
    expect(sent.map(({ ids }) => ids.length)).toEqual([100]);
  });

  it('do not wait longer than a few milliseconds for others', async () => {
    add(0, 1);
    await clock.advance(4);
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent.map(({ ids }) => ids)).toEqual([['0-0']]);
  });

  it('are settled only when Redis has confirmed them', async () => {
    add(0, 2);
    acks.flush();
    expect(acks.isSettled).toBe(false);
    sent[0]!.answer();
    await settle();
    expect([acks.isSettled, settledTimes, confirmed]).toEqual([true, 1, ['0-0', '1-0']]);
  });

  it('are sent again, in order and with what came meanwhile, when Redis did not take them', async () => {
    add(0, 2);
    acks.flush();
    sent[0]!.fail();
    await settle();
    add(2, 3);
    acks.flush(); // not before the backoff is over
    expect(sent.length).toBe(1);
    await clock.advance(50);
    expect(sent[1]!.ids).toEqual(['0-0', '1-0', '2-0']);
  });

  it('are refused, all of them, from the moment that the lease is over', async () => {
    add(0, 3);
    mayAck = false;
    await clock.advance(100);
    expect([sent.length, refused, acks.isSettled]).toEqual([0, 3, true]);
    expect(acks.add('3-0')).toBe(false);
    expect(refused).toBe(4);
  });

  it('are not sent again after they were closed', async () => {
    add(0, 1);
    acks.flush();
    acks.close();
    sent[0]!.fail();
    await clock.advance(10_000);
    expect(sent.length).toBe(1);
    expect(clock.timerCount).toBe(0);
  });
});
