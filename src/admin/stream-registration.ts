import { Inject, Injectable } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { GroupReader } from '../critical-section/group-reader';
import type { GroupKey } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import { ApiError, invalidRequest } from '../http/api-error';
import type { LoopStore, StreamRecord, StreamRegistry } from '../store/group-index';
import { LOOP_STORE, STREAM_REGISTRY } from '../store/store.tokens';

/** Attempts to write a record that others write, too. */
const MAX_ATTEMPTS = 10;
/** Ended lives that the record keeps. */
const MAX_ENDED_LIVES = 32;

export interface Registration {
  readonly shardCount: number;
  /** When members of a former life of the group have stopped at the latest; null: there was none. */
  readonly grantsFromMs: EpochMillis | null;
  /** The group exists. */
  readonly wasThere: boolean;
}

/**
 * Which groups a stream has, in the stream's own record. A group is registered before it is created, and deregistered after it
 * is deleted: a crash in between leaves a registration without a group, never a group without one. The record also keeps when
 * the members of a deleted group have stopped at the latest (docs/adr/0005).
 */
@Injectable()
export class StreamRegistration {
  constructor(
    @Inject(STREAM_REGISTRY) private readonly registry: StreamRegistry,
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly reader: GroupReader,
    @Inject(LOOP_STORE) private readonly loopStore: Pick<LoopStore, 'lossSeen'>,
  ) {}

  /** Groups of the stream other than this one. */
  async otherGroups({ streamPrefix, consumerGroup }: GroupKey): Promise<readonly string[]> {
    const record = await this.registry.load(streamPrefix);
    return (record?.consumerGroups ?? []).filter((name) => name !== consumerGroup);
  }

  async isRegistered({ streamPrefix, consumerGroup }: GroupKey): Promise<StreamRecord | null> {
    const record = await this.registry.load(streamPrefix);
    return record?.consumerGroups.includes(consumerGroup) === true ? record : null;
  }

  /** Enters the group, with the shard count of the stream if it has one. @throws ApiError STATE_CONFLICT */
  async register(key: GroupKey, wantedShardCount: number | null): Promise<Registration> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const [record, group] = await Promise.all([
        this.registry.load(key.streamPrefix),
        this.reader.read(key),
      ]);
      const isRegistered = record?.consumerGroups.includes(key.consumerGroup) === true;
      if (group.metadata !== null && isRegistered) {
        return { shardCount: group.metadata.shardCount, grantsFromMs: null, wasThere: true };
      }
      const ofStream = record !== null && record.consumerGroups.length > 0 ? record.shardCount : null;
      const wanted = wantedShardCount ?? this.options.defaultShardCount;
      const shardCount = group.metadata?.shardCount ?? ofStream ?? wanted;
      const recordedMs = this.endOfFormerLife(record, key, isRegistered, group.redisNowMs);
      const grantsFromMs = later(recordedMs, await this.endOfForgottenLife(group.redisNowMs));
      const next = withGroup(record, key, shardCount, group.redisNowMs);
      if (await this.registry.save(key.streamPrefix, record?.revision ?? null, next)) {
        return { shardCount, grantsFromMs, wasThere: group.metadata !== null };
      }
    }
    throw writtenByOthers(key);
  }

  /**
   * Before a restore: whether the stream can have the group with so many shards. Enters it if the stream knows nothing of it;
   * what is recorded is left alone, as the restore may be refused. @throws ApiError INVALID_REQUEST, STATE_CONFLICT
   */
  async admitRestored(key: GroupKey, shardCount: number): Promise<void> {
    const record = await this.registry.load(key.streamPrefix);
    const others = (record?.consumerGroups ?? []).filter((name) => name !== key.consumerGroup);
    if (record !== null && others.length > 0 && record.shardCount !== shardCount) {
      const rule = `must have ${record.shardCount} shards, as many as the stream's other groups have`;
      throw invalidRequest([{ field: 'document.aggregate.shardCount', rule }]);
    }
    if (record?.consumerGroups.includes(key.consumerGroup) !== true) await this.enter(key, shardCount);
  }

  /** Enters a group as it is. @throws ApiError STATE_CONFLICT */
  async enter(key: GroupKey, shardCount: number): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const record = await this.registry.load(key.streamPrefix);
      const others = (record?.consumerGroups ?? []).filter((name) => name !== key.consumerGroup);
      const formerLives = record?.formerLives ?? new Map<string, EpochMillis>();
      const next = { shardCount, consumerGroups: [...others, key.consumerGroup].sort(), formerLives };
      if (await this.registry.save(key.streamPrefix, record?.revision ?? null, next)) return;
    }
    throw writtenByOthers(key);
  }

  /**
   * Removes a deleted group, unless it was created anew meanwhile, and records when its members have stopped at the latest, also
   * of a group that was not registered (a registration can get lost between a deletion and a creation that run at once).
   * `leasesEndMs` null: nobody knows, a whole lease.
   */
  async deregister(key: GroupKey, leasesEndMs: EpochMillis | null): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const record = await this.registry.load(key.streamPrefix);
      const isRegistered = record?.consumerGroups.includes(key.consumerGroup) === true;
      const { metadata, redisNowMs } = await this.reader.read(key);
      if (metadata !== null) return;
      const endMs = leasesEndMs ?? this.leaseFrom(redisNowMs);
      if (!isRegistered && (leasesEndMs === null || endMs <= redisNowMs)) return;
      const next = withoutGroup(record ?? NO_RECORD, key, endMs, redisNowMs);
      if (await this.registry.save(key.streamPrefix, record?.revision ?? null, next)) return;
    }
    throw writtenByOthers(key);
  }

  /** Registered without metadata: its end, or its beginning, was cut short. Nobody knows the leases. */
  private endOfFormerLife(
    record: StreamRecord | null,
    key: GroupKey,
    isRegistered: boolean,
    redisNowMs: EpochMillis,
  ): EpochMillis | null {
    const recordedMs = record?.formerLives.get(key.consumerGroup) ?? null;
    return isRegistered ? this.leaseFrom(redisNowMs) : recordedMs;
  }

  /** A group that seems new may have had a life that Redis forgot: after a failover, or when everything is gone. */
  private async endOfForgottenLife(redisNowMs: EpochMillis): Promise<EpochMillis | null> {
    const { isRecordMissing, untilMs } = await this.loopStore.lossSeen();
    if (isRecordMissing) return this.leaseFrom(redisNowMs);
    return untilMs !== null && untilMs > redisNowMs ? untilMs : null;
  }

  private leaseFrom(redisNowMs: EpochMillis): EpochMillis {
    return (redisNowMs + this.options.timing.memberLeaseTtlMs) as EpochMillis;
  }
}

function later(one: EpochMillis | null, other: EpochMillis | null): EpochMillis | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}

function writtenByOthers({ streamPrefix }: GroupKey): ApiError {
  return new ApiError(
    'STATE_CONFLICT',
    `the record of stream ${streamPrefix} is written by others all the time`,
  );
}

const NO_RECORD = { shardCount: 0, consumerGroups: [], formerLives: new Map<string, EpochMillis>() };

type NextRecord = Omit<StreamRecord, 'revision'>;

function withGroup(
  record: StreamRecord | null,
  key: GroupKey,
  shardCount: number,
  nowMs: EpochMillis,
): NextRecord {
  const others = (record?.consumerGroups ?? []).filter((name) => name !== key.consumerGroup);
  const formerLives = record === null ? new Map<string, EpochMillis>() : remembered(record, nowMs);
  return { shardCount, consumerGroups: [...others, key.consumerGroup].sort(), formerLives };
}

function withoutGroup(record: NextRecord, key: GroupKey, endMs: EpochMillis, nowMs: EpochMillis): NextRecord {
  const formerLives = new Map(remembered(record, nowMs));
  const knownMs = formerLives.get(key.consumerGroup) ?? endMs;
  if (endMs > nowMs) formerLives.set(key.consumerGroup, knownMs > endMs ? knownMs : endMs); // else nobody reads any more
  return {
    shardCount: record.shardCount,
    consumerGroups: record.consumerGroups.filter((name) => name !== key.consumerGroup),
    formerLives,
  };
}

/**
 * What is over is remembered for a while, too: the clock that says so may have jumped, which the creation of the group finds
 * out. Beyond so many the oldest are forgotten.
 */
function remembered(
  { formerLives }: Pick<StreamRecord, 'formerLives'>,
  nowMs: EpochMillis,
): ReadonlyMap<string, EpochMillis> {
  const ended = [...formerLives]
    .filter(([, endMs]) => endMs <= nowMs)
    .sort(([, one], [, other]) => other - one);
  const running = [...formerLives].filter(([, endMs]) => endMs > nowMs);
  return new Map([...running, ...ended.slice(0, MAX_ENDED_LIVES)]);
}
