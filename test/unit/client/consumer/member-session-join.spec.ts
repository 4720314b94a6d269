import { describe, expect, it } from '@jest/globals';
import { LEASE_MS, owned, SessionBench, words } from './session-bench';

describe('a member that joins', () => {
  it('asks with epoch 0, an instance id and two empty lists', () => {
    const { body } = new SessionBench().send();
    expect(body).toMatchObject({ memberEpoch: 0, ownedShards: [], revokingShards: [], instanceId: 'id-1' });
    expect(body.previousEpoch).toBeUndefined();
  });

  it('starts what the answer assigns, and reports it at once under the issued epoch', () => {
    const bench = new SessionBench();
    expect(words(bench.join(0, 3))).toEqual(['TENURE_STARTED', 'LEASE_RENEWED', 'START 0', 'START 3']);
    const beat = bench.send();
    expect(beat.body.memberEpoch).toBe(101);
    expect(owned(beat)).toEqual([0, 3]);
  });

  it('may not work before the answer', () => {
    const bench = new SessionBench();
    const join = bench.send();
    expect(bench.mayWork).toBe(false);
    bench.answer(join, { assigned: [0] });
    expect(bench.mayWork).toBe(true);
  });

  it.each([
    [
      'no answer',
      (bench: SessionBench, sent: ReturnType<SessionBench['send']>) => bench.fail(sent, null, null),
    ],
    [
      'RETRY',
      (bench: SessionBench, sent: ReturnType<SessionBench['send']>) =>
        bench.answer(sent, { status: 'RETRY' }),
    ],
  ])('repeats with the same instance id after %s', (_case, lose) => {
    const bench = new SessionBench();
    const first = bench.send();
    lose(bench, first);
    expect(bench.poll()).toBeNull(); // backs off
    const second = bench.sendNext();
    expect(second.body).toMatchObject({ memberEpoch: 0, instanceId: first.body.instanceId });
    expect(second.body.requestId).not.toBe(first.body.requestId);
  });

  it('repeats, and starts nothing, when the answer comes after the lease that it grants', () => {
    const bench = new SessionBench();
    const first = bench.send();
    bench.pass(LEASE_MS);
    expect(bench.answer(first, { assigned: [0] })).toEqual([]);
    expect(bench.mayWork).toBe(false);
    expect(bench.sendNext().body.instanceId).toBe(first.body.instanceId);
  });

  it('counts its lease from the sending of the join', () => {
    const bench = new SessionBench();
    const join = bench.send();
    bench.pass(2_000);
    bench.answer(join, { assigned: [0] });
    bench.pass(LEASE_MS - 2_000 - 1);
    expect(bench.mayWork).toBe(true);
    expect(words(bench.pass(1))).toContain('STOP_ALL LEASE_OVER');
    expect(bench.mayWork).toBe(false);
  });

  it('tells of a missing group and keeps asking', () => {
    const bench = new SessionBench();
    expect(words(bench.fail(bench.send(), 404, 'GROUP_NOT_FOUND'))).toEqual(['GROUP_MISSING']);
    expect(bench.sendNext().kind).toBe('JOIN');
  });

  it.each([
    [
      'UNSUPPORTED_PROTOCOL' as const,
      (b: SessionBench) => b.answer(b.send(), { status: 'UNSUPPORTED_PROTOCOL' }),
    ],
    ['INVALID_REQUEST' as const, (b: SessionBench) => b.answer(b.send(), { status: 'INVALID_REQUEST' })],
    ['INVALID_REQUEST' as const, (b: SessionBench) => b.fail(b.send(), 400, 'INVALID_REQUEST')],
  ])('ends for good with %s', (status, refuse) => {
    const bench = new SessionBench();
    expect(words(refuse(bench))).toEqual(['STOP_ALL REFUSED', `REFUSED ${status}`, 'ENDED']);
    bench.pass(100_000);
    expect(bench.poll()).toBeNull();
    expect(bench.session.nextWakeMs()).toBe(Number.POSITIVE_INFINITY);
  });

  it('waits longer after each failure, up to the heartbeat interval', () => {
    const bench = new SessionBench();
    const waits: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      bench.fail(i === 0 ? bench.send() : bench.sendNext(), null, null);
      waits.push(bench.session.nextWakeMs() - bench.nowMs);
    }
    expect(waits.slice(0, 3)).toEqual([50, 100, 200]);
    expect(waits.at(-1)).toBe(1_500); // half of the interval, as chance is 0 here
  });
});
