import { describe, expect, it } from '@jest/globals';
import { HighestVersion } from '../../../../src/client/versions/highest-version';
import { INTERVAL_MS, LEASE_MS, owned, revoking, SessionBench, words } from './session-bench';

const IN_ROUND = ['SYNC_METADATA' as const, 'REVOKE_PENDING' as const];

describe('a member in a correction round', () => {
  it.each(IN_ROUND)(
    'keeps with %s what it reads and is assigned, drains the rest, starts nothing',
    (status) => {
      const bench = new SessionBench();
      bench.join(0, 1);
      const commands = bench.answer(bench.send(), { status, version: 5, assigned: [1, 2], pending: [3] });
      expect(words(commands)).toEqual(['LEASE_RENEWED', 'CORRECTION_STARTED', 'DRAIN 0']);
      const beat = bench.sendNext();
      expect(beat.body.metadataVersion).toBe(5); // the version of the round, also when it is a lower one
      expect(owned(beat)).toEqual([1]);
      expect(revoking(beat)).toEqual(['0 DRAINING 0']);
    },
  );

  it.each(IN_ROUND)(
    'does the same at the second %s as at the first: that one may have been lost',
    (status) => {
      const bench = new SessionBench();
      bench.join(0, 1);
      bench.answer(bench.send(), { status, version: 11, assigned: [1] });
      const again = bench.answer(bench.sendNext(), { status, version: 11, assigned: [1] });
      expect(words(again)).toEqual(['LEASE_RENEWED']);
      expect(owned(bench.sendNext())).toEqual([1]);
    },
  );

  it('drains what a later answer of the round does not assign any more', () => {
    const bench = new SessionBench();
    bench.join(0, 1);
    bench.answer(bench.send(), { status: 'SYNC_METADATA', version: 11, assigned: [0, 1] });
    const commands = bench.answer(bench.sendNext(), { status: 'REVOKE_PENDING', version: 12, assigned: [1] });
    expect(words(commands)).toEqual(['LEASE_RENEWED', 'DRAIN 0']);
  });

  it.each([
    ['still draining', false],
    ['already revoked', true],
  ])('takes no shard back before the round is over, %s', (_case, isDone) => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    if (isDone) bench.stopped(0);
    for (const status of IN_ROUND) {
      const commands = words(bench.answer(bench.sendNext(), { status, assigned: [0], version: 12 }));
      expect(commands.filter((word) => word !== 'CORRECTION_STARTED')).toEqual(['LEASE_RENEWED']);
    }
    const beat = bench.sendNext();
    expect(owned(beat)).toEqual([]);
    expect(words(bench.answer(beat, { assigned: [0], version: 13 }))).toContain('START 0');
  });

  it('begins what the first OK grants, after it has told that the round is over', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { status: 'REVOKE_PENDING', version: 11, assigned: [0], pending: [1] });
    const commands = bench.answer(bench.sendNext(), { version: 12, assigned: [0, 1] });
    expect(words(commands)).toEqual(['LEASE_RENEWED', 'CORRECTION_ENDED', 'START 1']);
  });

  it('forgets a drained shard that Redis does not hold for it only when nothing runs there', () => {
    const bench = new SessionBench();
    bench.join(0);
    const inRound = { status: 'REVOKE_PENDING' as const, version: 11, assigned: [], revoking: [] };
    bench.answer(bench.send(), inRound);
    bench.answer(bench.sendNext(), inRound);
    const beat = bench.sendNext();
    expect(revoking(beat)).toEqual(['0 DRAINING 0']);
    bench.answer(beat, inRound);
    bench.stopped(0);
    const report = bench.send();
    expect(revoking(report)).toEqual(['0 REVOKED 0']);
    bench.answer(report, inRound);
    expect(revoking(bench.sendNext())).toEqual([]);
  });

  it('drains everything and leaves when it is stopped in a round', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { status: 'REVOKE_PENDING', version: 11, assigned: [0] });
    expect(words(bench.stop())).toEqual(['DRAIN 0']);
    bench.stopped(0);
    const leave = bench.send();
    expect(leave.kind).toBe('LEAVE');
    expect(words(bench.answer(leave, { version: 12 }))).toEqual(['STOP_ALL LEFT', 'ENDED']);
  });
});

describe('a fencing token that changes', () => {
  it.each([...IN_ROUND, 'OK' as const])(
    'is taken with %s for a shard that is read, which is read on',
    (status) => {
      const bench = new SessionBench();
      bench.join(0);
      const commands = words(bench.answer(bench.send(), { status, assigned: [0], token: 9, version: 11 }));
      expect(commands).toContain('RENEW_TOKEN 0 9');
      expect(commands.filter((word) => /^(START|DRAIN)/.test(word))).toEqual([]);
      const again = bench.answer(bench.sendNext(), { status, assigned: [0], token: 9, version: 11 });
      expect(words(again)).toEqual(['LEASE_RENEWED']);
    },
  );

  it('does not fall while the shard is read: neither by a lower one nor by a coordinator that tells none', () => {
    const bench = new SessionBench();
    bench.join(0);
    for (const token of [6, 0]) {
      expect(words(bench.answer(bench.sendNext(), { assigned: [0], token }))).toEqual(['LEASE_RENEWED']);
    }
    expect(words(bench.answer(bench.sendNext(), { assigned: [0], token: 8 }))).toContain('RENEW_TOKEN 0 8');
  });

  it('starts a shard that was let go of, whatever the token', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { revoking: [0], version: 11 });
    bench.stopped(0);
    bench.answer(bench.send(), { version: 12 });
    const commands = bench.answer(bench.sendNext(), { assigned: [0], token: 7, version: 13 });
    expect(commands).toContainEqual({ kind: 'START', shard: 0, token: 7 });
  });
});

describe('a member that joins in a correction round', () => {
  it.each(IN_ROUND)('starts a tenure by %s, and nothing else, whatever is assigned', (status) => {
    const bench = new SessionBench();
    const commands = bench.answer(bench.send(), { status, assigned: [0], pending: [1] });
    expect(words(commands)).toEqual(['TENURE_STARTED', 'LEASE_RENEWED', 'CORRECTION_STARTED']);
    const beat = bench.send(); // at once: it is to be told of
    expect(beat.body).toMatchObject({ memberEpoch: 101, metadataVersion: 10 });
    expect(owned(beat)).toEqual([]);
    expect(beat.body.revokingShards).toEqual([]);
    bench.pass(LEASE_MS - 1);
    expect(bench.mayWork).toBe(true);
  });

  it.each(IN_ROUND)('starts nothing by %s to a join that it has repeated', (status) => {
    const bench = new SessionBench();
    const first = bench.send();
    bench.fail(first, null, null);
    const second = bench.sendNext();
    expect(second.body.instanceId).toBe(first.body.instanceId);
    const commands = bench.answer(second, { status, assigned: [0, 1], version: 11 });
    expect(words(commands)).toEqual(['TENURE_STARTED', 'LEASE_RENEWED', 'CORRECTION_STARTED']);
    expect(words(bench.answer(bench.send(), { assigned: [0], version: 12 }))).toEqual([
      'LEASE_RENEWED',
      'CORRECTION_ENDED',
      'START 0',
    ]);
  });

  it('is still in the round after a tenure that was lost in it', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { status: 'SYNC_METADATA', version: 11, assigned: [0] });
    expect(words(bench.answer(bench.sendNext(), { status: 'FENCED_MEMBER_EPOCH' }))).toEqual([
      'STOP_ALL FENCED_MEMBER_EPOCH',
    ]);
    bench.stopped(0);
    const rejoined = bench.answer(bench.send(), { status: 'REVOKE_PENDING', version: 11 });
    expect(words(rejoined)).toEqual(['TENURE_STARTED', 'LEASE_RENEWED']);
    expect(words(bench.answer(bench.send(), { version: 12 }))).toContain('CORRECTION_ENDED');
  });
});

describe('the pace in a correction round', () => {
  it('does not wait on a long poll, and asks again after a quarter of the interval', () => {
    const bench = new SessionBench({ longPoll: true });
    bench.join(0);
    const beat = bench.send();
    expect(beat.waitMs).toBe(INTERVAL_MS);
    bench.answer(beat, { status: 'SYNC_METADATA', assigned: [0], version: 11 });
    for (let version = 12; version < 20; version += 1) {
      expect(bench.poll()).toBeNull(); // also when every answer brings another version
      expect(bench.session.nextWakeMs() - bench.nowMs).toBe(INTERVAL_MS / 4);
      const next = bench.sendNext();
      expect(next.waitMs).toBe(0);
      bench.answer(next, { status: 'REVOKE_PENDING', assigned: [0], version });
    }
    bench.answer(bench.sendNext(), { assigned: [0], version: 20 });
    expect(bench.sendNext().waitMs).toBe(INTERVAL_MS);
  });

  it('is as quick without long polls, and jittered upwards', () => {
    const bench = new SessionBench({ random: () => 0.999 });
    bench.join(0);
    bench.answer(bench.send(), { status: 'SYNC_METADATA', assigned: [0], version: 11 });
    const waitMs = bench.session.nextWakeMs() - bench.nowMs;
    expect(waitMs).toBeGreaterThan(INTERVAL_MS / 4);
    expect(waitMs).toBeLessThan(INTERVAL_MS * 0.375);
  });

  it('reports a REVOKED at once', () => {
    const bench = new SessionBench({ longPoll: true });
    bench.join(0);
    bench.answer(bench.send(), { status: 'SYNC_METADATA', version: 11 });
    expect(bench.poll()).toBeNull();
    bench.stopped(0);
    expect(revoking(bench.send())).toEqual(['0 REVOKED 0']);
  });

  it('backs off from a coordinator that is away', () => {
    const bench = new SessionBench();
    bench.join(0);
    bench.answer(bench.send(), { status: 'SYNC_METADATA', assigned: [0], version: 11 });
    const waits: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      bench.fail(bench.sendNext(), null, null);
      waits.push(bench.session.nextWakeMs() - bench.nowMs);
    }
    expect(waits).toEqual([50, 100, 200, 400, 800, 1_500]);
  });
});

describe('the highest version that a process ever saw', () => {
  it('is told by every member of it, from the first join on, and stays when an answer goes back', () => {
    const highestVersion = new HighestVersion();
    highestVersion.observe(50); // of an earlier process
    const [a, b] = [new SessionBench({ highestVersion }), new SessionBench({ highestVersion })];
    expect(a.send().body).toMatchObject({ metadataVersion: 0, maxObservedVersion: 50 });
    b.answer(b.send(), { version: 60 });
    const beat = b.send();
    b.answer(beat, { status: 'SYNC_METADATA', version: 55 });
    expect(b.sendNext().body).toMatchObject({ metadataVersion: 55, maxObservedVersion: 60 });
  });
});
