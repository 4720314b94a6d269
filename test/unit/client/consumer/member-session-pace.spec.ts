import { describe, expect, it } from '@jest/globals';
import { INTERVAL_MS, LEASE_MS, revoking, SessionBench, words } from './session-bench';

describe('the pace of heartbeats', () => {
  it('sends one request at a time', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.send();
    bench.pass(INTERVAL_MS * 2);
    expect(bench.poll()).toBeNull();
  });

  it('beats once per interval without long poll', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { assigned: [0] });
    expect(bench.session.nextWakeMs() - bench.nowMs).toBe(INTERVAL_MS);
    expect(bench.sendNext().waitMs).toBe(0);
  });

  it('polls again at once after a long poll that waited or brought news', () => {
    const bench = new SessionBench({ longPoll: true });
    bench.join(0);
    const first = bench.send();
    bench.pass(100);
    bench.answer(first, { assigned: [0], version: 11 });
    const second = bench.send();
    bench.pass(INTERVAL_MS);
    bench.answer(second, { assigned: [0] });
    expect(bench.send().waitMs).toBe(INTERVAL_MS);
  });

  it('does not spin on a coordinator that answers polls at once, without news', () => {
    const bench = new SessionBench({ longPoll: true });
    bench.join(0);
    bench.answer(bench.send(), { assigned: [0] });
    expect(bench.poll()).toBeNull();
    expect(bench.session.nextWakeMs() - bench.nowMs).toBe(INTERVAL_MS);
  });

  it('drops a waiting poll when there is a REVOKED to report, and never applies its answer', () => {
    const bench = new SessionBench({ longPoll: true });
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    const waiting = bench.sendNext();
    expect(waiting.waitMs).toBe(INTERVAL_MS);
    expect(words(bench.stopped(0))).toEqual(['ABANDON_REQUEST']);
    const report = bench.send();
    expect(revoking(report)).toEqual(['0 REVOKED 0']);
    expect(report.waitMs).toBe(0);
    expect(bench.answer(waiting, { assigned: [0], version: 12 })).toEqual([]);
  });

  it('lets a request that does not wait finish, and reports the REVOKED right after', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    const sent = bench.sendNext();
    expect(bench.stopped(0)).toEqual([]);
    expect(bench.poll()).toBeNull();
    bench.answer(sent, { revoking: [0] });
    expect(revoking(bench.send())).toEqual(['0 REVOKED 0']);
  });

  it('asks to be woken for its lease while a request is under way', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.send();
    expect(bench.session.nextWakeMs() - bench.nowMs).toBe(LEASE_MS);
  });
});

describe('a member that stops', () => {
  it('ends at once when it never asked for a tenure', () => {
    expect(words(new SessionBench().stop())).toEqual(['ENDED']);
  });

  it('leaves in one request that reports everything revoked when its drains are quick', () => {
    const bench = new SessionBench({ longPoll: true });
    bench.join(0, 1);
    bench.answer(bench.send(), { assigned: [0, 1], version: 11 });
    const waiting = bench.sendNext();
    expect(words(bench.stop())).toEqual(['DRAIN 0', 'DRAIN 1', 'ABANDON_REQUEST']);
    bench.stopped(0);
    expect(bench.poll()).toBeNull();
    bench.stopped(1);
    const leave = bench.send();
    expect(leave.body).toMatchObject({
      memberEpoch: -1,
      previousEpoch: 101,
      instanceId: waiting.body.instanceId,
    });
    expect(revoking(leave)).toEqual(['0 REVOKED 0', '1 REVOKED 0']);
    expect(words(bench.answer(leave, {}))).toEqual(['STOP_ALL LEFT', 'ENDED']);
  });

  it('leaves early when a drain is slow, and keeps its lease up by plain heartbeats', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { assigned: [0] });
    bench.stop();
    const early = bench.sendNext();
    expect(early.kind).toBe('LEAVE');
    expect(revoking(early)).toEqual(['0 DRAINING 0']);
    bench.answer(early, { revoking: [0], version: 12 });
    for (let i = 0; i < 10; i += 1) {
      const beat = bench.sendNext();
      expect(beat.body.memberEpoch).toBe(101);
      expect(words(bench.answer(beat, { revoking: [0], assigned: [5] }))).toEqual(['LEASE_RENEWED']);
    }
    bench.stopped(0);
    expect(words(bench.answer(bench.send(), {}))).toEqual(['STOP_ALL LEFT', 'ENDED']);
  });

  it('renews nothing by the answer to its leave', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { assigned: [0] });
    bench.pass(1_000);
    bench.stop();
    bench.answer(bench.sendNext(), { revoking: [0] });
    let ended: string[] = [];
    for (let i = 0; i < 5; i += 1) ended = [...ended, ...words(bench.pass(INTERVAL_MS))];
    expect(ended).toEqual(['STOP_ALL LEASE_OVER', 'ENDED']);
  });

  it('gives the leave up when the lease ends', () => {
    const bench = new SessionBench();
    bench.join();
    bench.stop();
    for (let i = 0; i < 3; i += 1) bench.fail(bench.sendNext(), null, null);
    expect(words(bench.pass(LEASE_MS))).toEqual(['STOP_ALL LEASE_OVER', 'ENDED']);
  });

  it('leaves by its instance id when its join may have been recorded', () => {
    const bench = new SessionBench();
    const join = bench.send();
    bench.fail(join, null, null);
    bench.stop();
    const leave = bench.send();
    expect(leave.body).toMatchObject({ memberEpoch: -1, instanceId: join.body.instanceId });
    expect(words(bench.answer(leave, { epoch: -1 }))).toEqual(['ENDED']);
  });

  it('leaves after a join that is answered after the stop, and starts nothing', () => {
    const bench = new SessionBench();
    const join = bench.send();
    bench.stop();
    expect(words(bench.answer(join, { assigned: [0] }))).toEqual(['TENURE_STARTED', 'LEASE_RENEWED']);
    expect(bench.send().kind).toBe('LEAVE');
  });

  it.each(['FENCED_MEMBER_EPOCH' as const, 'UNKNOWN_MEMBER_ID' as const])('ends at %s', (status) => {
    const bench = new SessionBench();
    bench.join(0);
    bench.stop();
    expect(words(bench.answer(bench.sendNext(), { status }))).toEqual([`STOP_ALL ${status}`, 'ENDED']);
  });
});
