import { describe, expect, it } from '@jest/globals';
import { INTERVAL_MS, LEASE_MS, owned, REBALANCE_MS, revoking, SessionBench, words } from './session-bench';

describe('a member that loses a shard', () => {
  it('drains it, reports it with what is in flight, and keeps the rest', () => {
    const bench = new SessionBench();
    bench.join(0, 1);
    bench.inFlight.set(0, 1);
    expect(words(bench.answer(bench.send(), { assigned: [1], revoking: [0], version: 11 }))).toEqual([
      'LEASE_RENEWED',
      'DRAIN 0',
    ]);
    const beat = bench.sendNext();
    expect(owned(beat)).toEqual([1]);
    expect(revoking(beat)).toEqual(['0 DRAINING 1']);
  });

  it('reports REVOKED at once when the drain is done, and until an answer no longer counts it', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    bench.stopped(0);
    const report = bench.send();
    expect(revoking(report)).toEqual(['0 REVOKED 0']);
    bench.answer(report, { revoking: [0] });
    const again = bench.sendNext();
    expect(revoking(again)).toEqual(['0 REVOKED 0']);
    bench.answer(again, { revoking: [] });
    expect(revoking(bench.sendNext())).toEqual([]);
  });

  it('forgets a reported REVOKED by the answer alone with a coordinator that lists no revoking shards', () => {
    const bench = new SessionBench();
    bench.join(0);
    const beat = bench.send();
    bench.stopped(0); // spurious: it is read
    bench.answer(beat, { revoking: null, version: 11 });
    const inTheAir = bench.sendNext();
    bench.stopped(0);
    bench.answer(inTheAir, { revoking: null }); // did not report it
    const report = bench.send();
    expect(revoking(report)).toEqual(['0 REVOKED 0']);
    bench.answer(report, { revoking: null });
    expect(revoking(bench.sendNext())).toEqual([]);
  });

  it('reports a REVOKED again whose answer was lost', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    bench.stopped(0);
    bench.fail(bench.send(), null, null);
    expect(revoking(bench.sendNext())).toEqual(['0 REVOKED 0']);
  });

  it('keeps draining when the DRAIN answer is lost and comes again', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    expect(words(bench.answer(bench.sendNext(), { revoking: [0] }))).toEqual(['LEASE_RENEWED']);
  });

  it.each([
    ['still draining', false],
    ['already revoked', true],
  ])('reads a shard again that a later answer assigns, %s', (_case, isDone) => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    if (isDone) bench.stopped(0);
    expect(words(bench.answer(bench.sendNext(), { assigned: [0], version: 12 }))).toContain('START 0');
    expect(owned(bench.sendNext())).toEqual([0]);
  });

  it('aborts its handlers before the coordinator loses patience, and reports REVOKED only when nothing runs', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    const aborted: number[] = [];
    for (let waited = 0; waited < REBALANCE_MS; waited += 1_000) {
      if (words(bench.pass(1_000)).includes('ABORT_DRAIN 0')) aborted.push(waited + 1_000);
      const sent = bench.poll();
      if (sent === null) continue;
      expect(revoking(sent)).toEqual(['0 DRAINING 0']);
      bench.answer(sent, { revoking: [0] });
    }
    expect(aborted).toEqual([REBALANCE_MS * 0.9]);
  });
});

describe('a member whose tenure ends', () => {
  it.each(['FENCED_MEMBER_EPOCH' as const, 'UNKNOWN_MEMBER_ID' as const])(
    'stops everything at %s and joins anew as another instance that names the one before',
    (status) => {
      const bench = new SessionBench();
      bench.join(0);
      const beat = bench.send();
      expect(words(bench.answer(beat, { status }))).toEqual([`STOP_ALL ${status}`]);
      expect(bench.mayWork).toBe(false);
      bench.stopped(0);
      const join = bench.send();
      expect(join.body).toMatchObject({
        memberEpoch: 0,
        previousEpoch: 101,
        ownedShards: [],
        revokingShards: [],
      });
      expect(join.body.instanceId).not.toBe(beat.body.instanceId);
    },
  );

  it('does not rejoin while a handler of the old tenure runs, until the old lease is over', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { status: 'FENCED_MEMBER_EPOCH' });
    expect(bench.poll()).toBeNull();
    bench.pass(LEASE_MS - 1);
    expect(bench.poll()).toBeNull();
    bench.pass(1);
    expect(bench.send().body.previousEpoch).toBe(101);
  });

  it('notices the end of its lease in whatever comes first: a tick, an answer, a failure', () => {
    for (const notice of ['tick', 'answer', 'failure'] as const) {
      const bench = new SessionBench();
      bench.join(0);
      bench.answer(bench.send(), { assigned: [0] });
      const sent = bench.sendNext();
      bench.nowMs = (bench.nowMs + LEASE_MS) as typeof bench.nowMs; // paused: nobody ticked
      const commands =
        notice === 'tick'
          ? bench.pass(0)
          : notice === 'answer'
            ? bench.answer(sent, { assigned: [0] })
            : bench.fail(sent);
      expect(words(commands)).toContain('STOP_ALL LEASE_OVER');
      expect(bench.mayWork).toBe(false);
    }
  });

  it('never applies the answer to a request that the end of the tenure has overtaken', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { assigned: [0] });
    const sent = bench.sendNext();
    expect(words(bench.pass(LEASE_MS))).toEqual(['STOP_ALL LEASE_OVER', 'ABANDON_REQUEST']);
    expect(bench.answer(sent, { assigned: [0, 1] })).toEqual([]);
    expect(bench.mayWork).toBe(false);
  });

  it('keeps its distance when it is fenced again and again', () => {
    const bench = new SessionBench();
    bench.join();
    bench.answer(bench.send(), { status: 'FENCED_MEMBER_EPOCH' });
    bench.answer(bench.send(), {}); // the first rejoin goes out at once
    bench.answer(bench.send(), { status: 'FENCED_MEMBER_EPOCH' });
    expect(bench.poll()).toBeNull();
  });

  it('keeps the highest version it ever saw over tenures', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { status: 'UNKNOWN_MEMBER_ID', version: 99 });
    bench.stopped(0);
    expect(bench.send().body.maxObservedVersion).toBe(99);
  });
});

describe('what renews the lease of a member', () => {
  const runsOutAfter = (answer: (bench: SessionBench) => void): boolean => {
    const bench = new SessionBench();
    bench.join(0);
    bench.pass(INTERVAL_MS);
    answer(bench);
    return !words(bench.pass(LEASE_MS - INTERVAL_MS)).includes('STOP_ALL LEASE_OVER');
  };

  it.each(['OK' as const, 'SYNC_METADATA' as const, 'REVOKE_PENDING' as const])('renews by %s', (status) => {
    expect(runsOutAfter((bench) => bench.answer(bench.send(), { status, assigned: [0] }))).toBe(true);
  });

  it('does not renew by RETRY, nor by anything but 200', () => {
    expect(runsOutAfter((bench) => bench.answer(bench.send(), { status: 'RETRY' }))).toBe(false);
    expect(runsOutAfter((bench) => bench.fail(bench.send()))).toBe(false);
    expect(runsOutAfter((bench) => bench.fail(bench.send(), 404, 'GROUP_NOT_FOUND'))).toBe(false);
  });

  it('neither follows nor renews by an OK that is older than its view', () => {
    expect(runsOutAfter((bench) => bench.answer(bench.send(), { version: 9, assigned: [] }))).toBe(false);
  });

  it('neither follows nor renews by an OK of another epoch', () => {
    expect(runsOutAfter((bench) => bench.answer(bench.send(), { epoch: 7, assigned: [] }))).toBe(false);
  });
});
