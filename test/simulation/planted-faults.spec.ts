import { describe, expect, it } from '@jest/globals';
import type {
  FencingToken,
  GroupEpoch,
  MemberEpoch,
  MetadataVersion,
  StoreRevision,
} from '../../src/domain/epochs';
import type { GroupMetadata, Shard } from '../../src/domain/group/group-metadata';
import { newGroup } from '../../src/domain/group/new-group';
import type { Incarnation, MemberId, WriteId } from '../../src/domain/ids';
import type { Member } from '../../src/domain/membership/member';
import type { EpochMillis } from '../../src/domain/time';
import { MemoryNode } from '../../src/store/memory/memory-node';
import { CommittedWrites } from './committed-writes';
import { Judge } from './judge';
import type { JudgedMember } from './judge';
import { runSchedule } from './schedule';
import type { ShardUse } from './shard-work';
import { KEY } from './timing';
import { Trace } from './trace';
import type { PlantedFault } from './world';

const CLOCK = { nowMs: 0 };
const NOW_MS = 1_800_000_000_000 as EpochMillis;

function createJudge(): Judge {
  const node = new MemoryNode(() => NOW_MS);
  return new Judge(new Trace(false, CLOCK), CLOCK, () => node);
}

function clientThat(uses: readonly ShardUse[], name = 'm1', isAlive = true): JudgedMember {
  return {
    ...{ name, memberId: name, memberEpoch: 7, isAlive },
    isInLease: () => true,
    usesNow: () => uses,
  };
}

const reading = (shard: number, token = 1): ShardUse => ({ shard, token, what: 'reading' });
const namesOf = (judge: Judge): string[] => judge.violations.map(({ invariant }) => invariant);

describe('the judge', () => {
  it('sees two users of a shard, one of which only drains', () => {
    const judge = createJudge();
    judge.members.add(clientThat([reading(0)], 'm1'));
    judge.members.add(clientThat([{ ...reading(0), what: 'draining' }], 'm2'));
    judge.checkUsers();
    expect(namesOf(judge)).toEqual(['SINGLE_USER']);
  });

  it('takes no offence at different shards, nor at the dead', () => {
    const judge = createJudge();
    judge.members.add(clientThat([reading(0), reading(1)], 'm1'));
    judge.members.add(clientThat([reading(2)], 'm2'));
    judge.members.add(clientThat([reading(0)], 'm3', false));
    judge.checkUsers();
    expect(judge.violations).toEqual([]);
  });

  it('sees a start that nobody recorded, and one under an older token', () => {
    const judge = createJudge();
    const client = clientThat([reading(0)]);
    judge.writes.grants.set('0:9', 'm1:7');
    judge.started(client, 0, 9);
    expect(judge.violations).toEqual([]);
    judge.started(client, 0, 8);
    expect(namesOf(judge)).toEqual(['RECORDED_BEFORE_TOLD', 'TOKEN_ORDER']);
  });

  it('sees an ack by who does not use the shard', () => {
    const judge = createJudge();
    judge.acked(clientThat([reading(1)]), reading(0));
    expect(namesOf(judge)).toEqual(['ACK_BY_OWNER']);
  });

  it('sees defects and false alerts in the log', () => {
    const judge = createJudge();
    judge.reported('event-loop:UNEXPECTED', 'error', { reason: 'a bug' });
    judge.reported('ALERT:SHARD_NEVER_GRANTED', 'error', { detail: 'm1 claims shard 0' });
    expect(namesOf(judge)).toEqual(['NO_DEFECT', 'NO_FALSE_ALERT']);
  });
});

function group(): GroupMetadata {
  const given = { key: KEY, incarnation: 'life-1' as Incarnation, shardCount: 2, grantsFromMs: null };
  const created = newGroup(given, {
    nowMs: NOW_MS,
    drawMs: NOW_MS,
    redisId: 'redis-1',
    mayEndTenures: true,
  } as never);
  return { ...created, writeId: 'w0' as WriteId };
}

/** The next write, with what a test changes in it. */
function next(base: GroupMetadata, change: Partial<GroupMetadata>): GroupMetadata {
  const storeRevision = (base.storeRevision + 1) as StoreRevision;
  const writeId = `w${storeRevision}` as WriteId;
  const written = { ...base, storeRevision, writeId, ...change };
  return { ...written, recentVersions: [written.metadataVersion] };
}

function moved(base: GroupMetadata, change: Partial<GroupMetadata>): GroupMetadata {
  const up = { metadataVersion: (base.metadataVersion + 1) as MetadataVersion };
  return next(base, { ...up, groupEpoch: (base.groupEpoch + 1) as GroupEpoch, ...change });
}

function withMember(base: GroupMetadata, memberEpoch: number): GroupMetadata {
  const memberId = 'm1' as MemberId;
  const member = {
    ...{ memberId, memberName: null, state: 'ACTIVE', stateChangedAtMs: NOW_MS, instanceId: null },
    ...{ memberEpoch: memberEpoch as MemberEpoch, joinedVersion: base.metadataVersion, maxConcurrency: 1 },
    correctedAtMs: null,
  } as Member;
  const lastMemberEpoch = Math.max(base.lastMemberEpoch, memberEpoch) as MemberEpoch;
  return moved(base, { members: new Map([[memberId, member]]), lastMemberEpoch });
}

function withToken(base: GroupMetadata, token: number): readonly Shard[] {
  return base.shards.map((shard, index) =>
    index === 0 ? { ...shard, lastToken: token as FencingToken } : shard,
  );
}

describe('the judge of writes', () => {
  function judged(history: readonly (readonly [string | null, GroupMetadata])[]): string[] {
    const seen: string[] = [];
    const writes = new CommittedWrites((invariant) => seen.push(invariant));
    for (const [baseWriteId, written] of history) {
      const leases = new Map([...written.members.keys()].map((id) => [id, NOW_MS]));
      writes.committed(baseWriteId, written, leases);
    }
    return seen;
  }

  it('takes no offence at a history as it should be', () => {
    const base = group();
    expect(
      judged([
        [null, base],
        ['w0', withMember(base, NOW_MS + 5)],
      ]),
    ).toEqual([]);
  });

  it('sees a revision that does not count up by one', () => {
    const base = group();
    const storeRevision = (base.storeRevision + 2) as StoreRevision;
    expect(
      judged([
        [null, base],
        ['w0', next(base, { storeRevision })],
      ]),
    ).toEqual(['STORE_REVISION']);
  });

  it('sees a version that stayed although a shard was given away', () => {
    const base = group();
    const member = withMember(base, NOW_MS + 5);
    const shards = member.shards.map((shard) => ({ ...shard, target: 'm1' as MemberId }));
    const seen = judged([
      [null, base],
      ['w0', member],
      [member.writeId, next(member, { shards })],
    ]);
    expect(seen).toContain('METADATA_VERSION');
  });

  it('sees a version and an epoch that were drawn before, by a write that was lost meanwhile', () => {
    const base = group();
    const lost = withMember(base, NOW_MS + 5);
    const again = { ...withMember(base, NOW_MS + 5), writeId: 'other' as WriteId };
    expect(
      judged([
        [null, base],
        ['w0', lost],
        ['w0', again],
      ]),
    ).toEqual(['METADATA_VERSION', 'MEMBER_EPOCH']);
  });

  it('sees an epoch that is not above all that were issued', () => {
    const base = group();
    expect(
      judged([
        [null, base],
        ['w0', withMember(base, NOW_MS - 5)],
      ]),
    ).toEqual(['MEMBER_EPOCH']);
  });

  it('sees a token that goes back, and one that two tenures have', () => {
    const base = group();
    expect(
      judged([
        [null, base],
        ['w0', moved(base, { shards: withToken(base, 1) })],
      ]),
    ).toEqual(['FENCING_TOKEN']);

    const member = withMember(base, NOW_MS + 5);
    const held = member.shards.map((shard) => ({
      ...{ ...shard, target: 'm1' as MemberId },
      occupancy: { kind: 'HELD', memberId: 'm1' as MemberId, drain: null } as const,
    }));
    const granted = { ...member, shards: held };
    const rejoined = { ...withMember(granted, NOW_MS + 9), shards: held };
    expect(
      judged([
        [null, base],
        ['w0', granted],
        [granted.writeId, rejoined],
      ]),
    ).toContain('FENCING_TOKEN');
  });

  it('sees a write that is based on one that nobody made', () => {
    expect(judged([['unknown', group()]])).toEqual(['WRITE_BASE']);
  });
});

/** Bound of the search: these faults show in one of a few seeds. */
const SEEDS_TO_TRY = 60;

async function firstViolationOf(planted: PlantedFault): Promise<string | null> {
  for (let seed = 1; seed <= SEEDS_TO_TRY; seed += 1) {
    const { violations } = await runSchedule({ seed, keepsTrace: false, without: new Set(), planted });
    const [first] = violations;
    if (first !== undefined) return first.invariant;
  }
  return null;
}

describe('a planted fault in the world', () => {
  it('is noticed: clients that believe in their lease for too long', async () => {
    expect(await firstViolationOf('LONG_LEASE')).toMatch(/^(EXPIRED_BY_MISTAKE|SINGLE_USER)$/);
  });

  it('is noticed: workers that ack without a look at the lease', async () => {
    expect(await firstViolationOf('NO_LEASE_CHECK')).toBe('ACK_BY_OWNER');
  });
});
