import type { MemberReport } from '../../domain/coordinator/decision';
import type { GroupMetadata } from '../../domain/group/group-metadata';
import { parseMemberId, type GroupKey, type MemberId } from '../../domain/ids';
import { epochMillis, type EpochMillis } from '../../domain/time';
import type { LuaRunner } from '../../redis/lua-runner';
import type { RedisArgument, RedisCommands } from '../../redis/redis-commands';
import type { RedisIdentity } from '../../redis/redis-identity';
import { AggregateSizes } from '../aggregate-sizes';
import { LAYOUT_VERSION, SCHEMA_VERSION } from '../aggregate-writer';
import { decodeReport, encodeReportRest, readStoredGroup, withLeases, type ReadGroup } from '../codec';
import {
  holdsLock,
  isOfAnotherRedis,
  type CommitOutcome,
  type GroupCommit,
  type LeaseRenewal,
  type LoadOutcome,
  type LockOutcome,
  type LockRequest,
  type MetadataStore,
  type RenewalOutcome,
} from '../metadata-store';
import { commitArguments } from './commit-arguments';
import type { CoordinatorKeys } from './coordinator-keys';
import { listOf, readLoadReply, textsFrom, type LoadReply } from './script-replies';
import { asStoreCall, identifiedCall, unexpectedReply } from './store-errors';

const REPORT_FIELD = 'seen:';
/** As section/commit-and-unlock.lua answers it. */
const LOCK_LOST = ['LOCK_LOST'];
/** As lease/renew-leases.lua answers it. */
const STALE = ['STALE'];

/**
 * The metadata store in Redis: one hash per group, changed by scripts only (lua/). Holds no state but the sizes of values it
 * has seen, so any number of coordinators may use one Redis.
 */
export class RedisMetadataStore implements MetadataStore {
  private readonly sizes = new AggregateSizes();

  constructor(
    private readonly lua: LuaRunner,
    private readonly commands: RedisCommands,
    private readonly keys: CoordinatorKeys,
    private readonly identity: Pick<RedisIdentity, 'current' | 'read' | 'forget'>,
  ) {}

  async lockAndLoad(key: GroupKey, request: LockRequest): Promise<LockOutcome> {
    const operation = 'lock and load';
    const { known } = request;
    const args = [request.token, request.lockTtlMs, ...this.knownArguments(known)];
    const { reply, redisId } = await identifiedCall(operation, this.identity, () =>
      this.lua.run('section/lock-and-load', [this.keys.metadata(key), this.keys.lock(key)], args),
    );
    const read = readLoadReply(operation, reply);
    if (read.kind === 'BUSY') return read;
    const outcome = await this.identified(this.outcomeOf(key, read, known, redisId));
    if (!holdsLock(outcome, request)) {
      // Best effort: the lock runs out by itself.
      await this.unlock(key, request.token).catch(() => undefined);
    }
    return outcome;
  }

  async commitAndUnlock(key: GroupKey, commit: GroupCommit): Promise<CommitOutcome> {
    const operation = 'commit';
    const { args, aggregate } = commitArguments(key, commit, this.keys.noticeChannel);
    const { reply } = await identifiedCall(operation, this.identity, (redisId) =>
      isOfAnotherRedis(commit, redisId)
        ? this.lua.run('section/unlock', [this.keys.lock(key)], [commit.token]).then(() => LOCK_LOST)
        : this.lua.run('section/commit-and-unlock', [this.keys.metadata(key), this.keys.lock(key)], args),
    );
    const [kind, redisNow] = listOf(operation, reply);
    switch (kind) {
      case 'COMMITTED':
        if (typeof commit.next === 'object' && commit.next !== null) {
          this.sizes.remember(commit.next, aggregate);
        }
        return { kind, redisNowMs: epochMillis(Number(redisNow)) };
      case 'LOCK_LOST':
      case 'REVISION_CONFLICT':
      case 'LEASE_MOVED':
        return { kind };
      default:
        throw unexpectedReply(operation, reply);
    }
  }

  async unlock(key: GroupKey, token: string): Promise<void> {
    await asStoreCall('unlock', () => this.lua.run('section/unlock', [this.keys.lock(key)], [token]));
  }

  async load(key: GroupKey, known?: GroupMetadata): Promise<LoadOutcome> {
    const operation = 'load';
    const { reply, redisId } = await identifiedCall(operation, this.identity, () =>
      this.lua.run('section/load', [this.keys.metadata(key)], this.knownArguments(known ?? null)),
    );
    const read = readLoadReply(operation, reply);
    if (read.kind === 'BUSY') throw unexpectedReply(operation, reply);
    return this.identified(this.outcomeOf(key, read, known ?? null, redisId));
  }

  async renewLeases(key: GroupKey, renewal: LeaseRenewal): Promise<RenewalOutcome> {
    const operation = 'renew leases';
    const args: RedisArgument[] = [...this.knownArguments(renewal.base), renewal.leaseTtlMs];
    for (const [memberId, report] of renewal.reports) args.push(memberId, encodeReportRest(report));
    const { reply } = await identifiedCall(operation, this.identity, async (redisId) =>
      redisId === renewal.base.redisId
        ? this.lua.run('lease/renew-leases', [this.keys.metadata(key)], args)
        : STALE,
    );
    const values = listOf(operation, reply);
    if (values[0] === 'STALE') return { kind: 'STALE' };
    if (values[0] !== 'RENEWED') throw unexpectedReply(operation, reply);
    const deadlines = textsFrom(values, 2);
    const renewed = new Map<MemberId, EpochMillis>();
    for (const [index, memberId] of [...renewal.reports.keys()].entries()) {
      const deadline = deadlines[index] ?? '';
      if (deadline !== '') renewed.set(memberId, epochMillis(Number(deadline)));
    }
    return { kind: 'RENEWED', renewed, redisNowMs: epochMillis(Number(values[1])) };
  }

  /** Reads the whole hash, aggregate included: for monitoring, not for every request. */
  async loadReports(key: GroupKey): Promise<ReadonlyMap<MemberId, MemberReport>> {
    const operation = 'load reports';
    const fields = listOf(
      operation,
      await asStoreCall(operation, () => this.commands.call(operation, 'HGETALL', this.keys.metadata(key))),
    );
    const reports = new Map<MemberId, MemberReport>();
    for (let index = 0; index + 1 < fields.length; index += 2) {
      const [field, value] = [fields[index], fields[index + 1]];
      if (typeof field !== 'string' || typeof value !== 'string' || !field.startsWith(REPORT_FIELD)) continue;
      const memberId = parseMemberId(field.slice(REPORT_FIELD.length));
      const report = decodeReport(value);
      if (memberId !== null && report !== null) reports.set(memberId, report);
    }
    return reports;
  }

  /**
   * A Redis may get another replication id while its connections last (its first replica attaches). Two coordinators would then
   * take it for two, each starting anew the rounds of the other: what seems to be another Redis is asked once more.
   */
  private async identified(outcome: LoadOutcome): Promise<LoadOutcome> {
    if (outcome.kind !== 'LOADED' || outcome.metadata.redisId === outcome.redisId) return outcome;
    return { ...outcome, redisId: await asStoreCall('INFO', () => this.identity.read()) };
  }

  private knownArguments(known: GroupMetadata | null): readonly RedisArgument[] {
    if (known === null) return ['', '', '', '', 0];
    return [known.storeRevision, known.writeId, SCHEMA_VERSION, LAYOUT_VERSION, this.sizes.of(known)];
  }

  private outcomeOf(
    key: GroupKey,
    reply: Exclude<LoadReply, { readonly kind: 'BUSY' }>,
    known: GroupMetadata | null,
    redisId: string,
  ): LoadOutcome {
    const { redisNowMs } = reply;
    switch (reply.kind) {
      case 'MISSING':
        return { kind: 'MISSING', redisNowMs, redisId };
      case 'WRONG_TYPE':
        return { kind: 'CORRUPT', reason: 'the metadata key is no hash', redisNowMs, redisId };
      case 'KNOWN':
        if (known === null) throw unexpectedReply('load', reply.kind);
        return loadedOrNot(withLeases(known, reply.flatLeases), redisNowMs, redisId);
      case 'LOADED': {
        const read = readStoredGroup(key, reply.stored, reply.flatLeases);
        if (read.kind === 'READ') this.sizes.remember(read.metadata, reply.stored.aggregate ?? '');
        return loadedOrNot(read, redisNowMs, redisId);
      }
    }
  }
}

function loadedOrNot(read: ReadGroup, redisNowMs: EpochMillis, redisId: string): LoadOutcome {
  if (read.kind !== 'READ') return { ...read, redisNowMs, redisId };
  return { kind: 'LOADED', metadata: read.metadata, leases: read.leases, redisNowMs, redisId };
}
