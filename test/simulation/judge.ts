import type { GroupState } from '../../src/domain/coordinator/decision';
import type { GroupMetadata, Leases } from '../../src/domain/group/group-metadata';
import { groupKeyText } from '../../src/domain/ids';
import type { MemberId } from '../../src/domain/ids';
import type { EpochMillis } from '../../src/domain/time';
import type { CommitOutcome, GroupCommit } from '../../src/store/metadata-store';
import type { MemoryNode } from '../../src/store/memory/memory-node';
import { CommittedWrites } from './committed-writes';
import { Coverage } from './coverage';
import type { ShardUse } from './shard-work';
import { KEY } from './timing';
import type { Trace } from './trace';

/** A client of the world, as far as it can break a promise. */
export interface JudgedMember {
  readonly name: string;
  readonly memberId: string;
  /** Of the running tenure; 0: none. */
  readonly memberEpoch: number;
  readonly isAlive: boolean;
  /** Whether the tenure's own lease, on its own clock, holds now. */
  isInLease(): boolean;
  /** Shards that are read, or drained with work in flight, each inside its own lease. */
  usesNow(): readonly ShardUse[];
}

export interface Violation {
  readonly atMs: number;
  readonly invariant: string;
  readonly detail: string;
}

/** More would only repeat the first. */
const MAX_VIOLATIONS = 10;

/** What is promised only of a Redis that can be told from the one before when it has lost writes. */
const OF_READERS: ReadonlySet<string> = new Set([
  ...['SINGLE_USER', 'ACK_BY_OWNER', 'TOKEN_ORDER', 'EXPIRED_BY_MISTAKE', 'NO_FALSE_ALERT'],
]);

/** Looks at every step of a schedule and notes what must not be. Knows everything, changes nothing. */
export class Judge {
  readonly violations: Violation[] = [];
  readonly coverage = new Coverage();
  readonly members = new Set<JudgedMember>();
  readonly writes = new CommittedWrites((invariant, detail) => this.violated(invariant, detail));
  /** Creations that the operator asked for; nothing else may bring a group into being. */
  requestedCreations = 0;
  checks = 0;
  private creations = 0;
  private moveListeners: (() => void)[] = [];
  private isGuaranteed = true;
  private readonly largestToken = new Map<number, number>();

  constructor(
    private readonly trace: Trace,
    private readonly clock: { readonly nowMs: number },
    private readonly node: () => MemoryNode,
  ) {}

  /** Redis lost writes in a way that nothing can notice: from now on shards may be read twice, everything else holds. */
  suspendGuarantee(): void {
    this.isGuaranteed = false;
  }

  violated(invariant: string, detail: string): void {
    if (!this.isGuaranteed && OF_READERS.has(invariant)) {
      this.coverage.count(`outside of the guarantee: ${invariant}`);
      return;
    }
    this.trace.add('JUDGE', `VIOLATION ${invariant}: ${detail}`);
    if (this.violations.length < MAX_VIOLATIONS)
      this.violations.push({ atMs: this.clock.nowMs, invariant, detail });
  }

  /** At most one user of a shard among clients inside their own leases. Asked after every step. */
  checkUsers(): void {
    const users = new Map<number, string>();
    for (const member of this.members) {
      if (!member.isAlive) continue;
      for (const { shard, what } of member.usesNow()) {
        this.checks += 1;
        const other = users.get(shard);
        if (other !== undefined) {
          this.violated('SINGLE_USER', `shard ${shard}: ${other} and ${member.name} (${what}) at once`);
        }
        users.set(shard, `${member.name} (${what})`);
      }
    }
  }

  /** A client begins to read on an answer's word. */
  started(member: JudgedMember, shard: number, token: number): void {
    this.checks += 1;
    this.coverage.count('shard started');
    const granted = this.writes.grants.get(`${shard}:${token}`);
    const own = `${member.memberId}:${member.memberEpoch}`;
    if (granted !== own) {
      const recorded = granted ?? 'nobody';
      this.violated(
        'RECORDED_BEFORE_TOLD',
        `${own} starts shard ${shard} under token ${token} of ${recorded}`,
      );
    }
    this.checkToken(member, shard, token, 'starts');
  }

  acked(member: JudgedMember, use: ShardUse): void {
    this.checks += 1;
    this.coverage.count('entry acked');
    const isUser = member.isAlive && member.usesNow().some(({ shard }) => shard === use.shard);
    if (!isUser) this.violated('ACK_BY_OWNER', `${member.name} acks shard ${use.shard} outside of its lease`);
    this.checkToken(member, use.shard, use.token, 'acks');
  }

  /** Grants of a shard are used in the order of their tokens. */
  private checkToken(member: JudgedMember, shard: number, token: number, doing: string): void {
    const largest = this.largestToken.get(shard) ?? 0;
    if (token < largest) {
      const detail = `${member.name} ${doing} shard ${shard} under token ${token}, after ${largest}`;
      this.violated('TOKEN_ORDER', detail);
    }
    this.largestToken.set(shard, Math.max(largest, token));
  }

  /** Runs a command of the store in Redis, and judges what it wrote. */
  async watchStore(call: string, args: readonly unknown[], run: () => Promise<unknown>): Promise<unknown> {
    if (call === 'renewLeases') return this.watchRenewal(run);
    if (call !== 'commitAndUnlock') return run();
    const text = groupKeyText(KEY);
    const existed = this.node().groups.has(text);
    const outcome = (await run()) as CommitOutcome;
    if (outcome.kind === 'COMMITTED') this.committed(args[1] as GroupCommit, existed);
    return outcome;
  }

  /** The fast path renews leases that have not run out, no others. */
  private async watchRenewal(run: () => Promise<unknown>): Promise<unknown> {
    const nowMs = this.node().now();
    const before = this.recordedLeases();
    const outcome = await run();
    for (const [memberId, endMs] of this.recordedLeases()) {
      this.checks += 1;
      const knownMs = before.get(memberId) ?? nowMs;
      if (endMs !== knownMs && knownMs <= nowMs)
        this.violated('LEASE_REVIVED', `the lease of ${memberId} was over`);
    }
    return outcome;
  }

  private committed(commit: GroupCommit, existed: boolean): void {
    const { next, base } = commit;
    if (next === null || next === 'UNCHANGED') return;
    if (!existed) this.created();
    const baseWriteId = base?.writeId ?? null;
    const before = baseWriteId === null ? null : this.writes.metadataOf(baseWriteId);
    this.writes.committed(baseWriteId, next, this.recordedLeases());
    if (this.trace.isOn) this.trace.add('redis', `WRITE ${describe(next)}`);
    if (before?.shards !== next.shards) this.tellMoved();
    if (before === null) return;
    this.checkExpired(before, next);
    this.countRounds(before, next);
  }

  /** Calls once when a write moves a shard or its target. */
  onceMoved(listener: () => void): void {
    this.moveListeners.push(listener);
  }

  private tellMoved(): void {
    const listeners = this.moveListeners;
    this.moveListeners = [];
    for (const listener of listeners) listener();
  }

  private countRounds({ correction: before }: GroupMetadata, { correction: now }: GroupMetadata): void {
    if (now !== null && now.roundVersion !== before?.roundVersion)
      this.coverage.count(`round started${before === null ? '' : ' anew'}: ${now.cause}`);
    if (now === null && before !== null) this.coverage.count('round ended');
  }

  private created(): void {
    this.creations += 1;
    if (this.creations > this.requestedCreations)
      this.violated('NOT_REBUILT', 'a group came into being that nobody asked for');
  }

  /** Nobody is expired by mistake: the client's own lease ends before the coordinator's. */
  private checkExpired(before: GroupMetadata, next: GroupMetadata): void {
    for (const [memberId, member] of next.members) {
      const known = before.members.get(memberId);
      if (member.state !== known?.state) this.coverage.count(`member ${member.state}`);
      if (member.state !== 'EXPIRED' || known?.state === 'EXPIRED') continue;
      this.checks += 1;
      for (const client of this.members) {
        const isSame = client.memberId === memberId && client.memberEpoch === (member.memberEpoch as number);
        if (isSame && client.isAlive && client.isInLease())
          this.violated('EXPIRED_BY_MISTAKE', `${client.name} was expired inside its own lease`);
      }
    }
  }

  recordedLeases(): Leases {
    const stored = this.node().groups.get(groupKeyText(KEY));
    return new Map(
      [...(stored?.leases ?? [])].map(([id, end]) => [id as MemberId, Number(end) as EpochMillis]),
    );
  }

  /** The group as Redis holds it now. */
  recordedGroup(): GroupState {
    const stored = this.node().groups.get(groupKeyText(KEY));
    const metadata = stored === undefined ? null : this.writes.metadataOf(stored.writeId ?? '');
    return { metadata, leases: this.recordedLeases() };
  }

  alerted(alert: string): void {
    this.coverage.count(`alert ${alert}`);
    this.trace.add('ALERT', alert);
  }

  /** What the coordinator's log says. */
  reported(kind: string, _level: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.trace.isOn)
      this.trace.add('log', `${kind} ${JSON.stringify(fields['detail'] ?? fields['reason'])}`);
    if (kind.includes('UNEXPECTED') || kind.includes('INTERNAL_ERROR'))
      this.violated('NO_DEFECT', `${kind} ${String(fields['reason'])}`);
    if (kind === 'ALERT:SHARD_NEVER_GRANTED' || kind === 'ALERT:ASSIGNOR_FAILED')
      this.violated('NO_FALSE_ALERT', `${kind} ${String(fields['detail'])}`);
  }
}

function describe(metadata: GroupMetadata): string {
  const members = [...metadata.members.values()].map(
    ({ memberId, state, memberEpoch }) => `${memberId}=${state}@${short(memberEpoch)}`,
  );
  const shards = metadata.shards.map(({ target, occupancy, lastToken }, index) => {
    const held = occupancy.kind === 'FREE' ? '-' : `${occupancy.kind[0] ?? ''}:${occupancy.memberId}`;
    const drain = occupancy.kind === 'HELD' && occupancy.drain !== null ? '!' : '';
    return `${index}:${held}${drain}#${short(lastToken)}>${target ?? '-'}`;
  });
  const round = metadata.correction === null ? '' : ' ROUND';
  return `v${short(metadata.metadataVersion)}${round} [${members.join(' ')}] [${shards.join(' ')}]`;
}

/** Numbers drawn from the clock, without the part that never changes. */
function short(drawn: number): number {
  return drawn % 10_000_000;
}
