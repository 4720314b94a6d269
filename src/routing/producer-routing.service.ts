import { Inject, Injectable } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { CriticalSection } from '../critical-section/critical-section';
import { EffectRunner } from '../critical-section/effects';
import { GroupReader } from '../critical-section/group-reader';
import { GroupWatch } from '../critical-section/group-watch';
import type { GroupState } from '../domain/coordinator/decision';
import { betraysLoss, onRoutingRead, type RoutingObservation } from '../domain/coordinator/on-routing';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey } from '../domain/ids';
import { routeTable } from '../domain/routing/route-table';
import { streamKeyPattern } from '../domain/routing/shard-keys';
import { groupNotFound } from '../http/group-not-found';
import type { ProducerRouting } from '../protocol';
import type { RoutingQueryDto } from './routing.dto';

/** Where a key's entries go. A read: no lock, no section, unless the caller's numbers betray that Redis lost writes. */
@Injectable()
export class ProducerRoutingService {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly reader: GroupReader,
    private readonly watch: GroupWatch,
    private readonly section: CriticalSection,
    private readonly effects: EffectRunner,
  ) {}

  /** @param signal made only when there is something to wait for. */
  async routing(key: GroupKey, query: RoutingQueryDto, signal: () => AbortSignal): Promise<ProducerRouting> {
    const metadata = await this.read(key, query);
    const askedWaitMs = query.waitMs ?? 0;
    const hasNews = query.metadataVersion !== (metadata.metadataVersion as number);
    if (askedWaitMs === 0 || hasNews) return this.answerOf(metadata, query);
    const waitMs = Math.min(askedWaitMs, this.options.timing.routingRefreshMs);
    await this.watch.waitForChange(key, (state) => routesDifferently(state, metadata), waitMs, signal());
    // Read again: the answer renews the caller's lease, so it must be what Redis holds now.
    return this.answerOf(await this.read(key, query), query);
  }

  private async read(key: GroupKey, query: RoutingQueryDto): Promise<GroupMetadata> {
    const read = await this.reader.read(key);
    if (read.metadata === null) throw groupNotFound(key);
    const observed = observationOf(query);
    if (!betraysLoss(read.metadata, read.redisId, observed)) return read.metadata;
    const result = await this.section.run(key, onRoutingRead(observed));
    if (result.reply === null) throw groupNotFound(key);
    await this.effects.carryOut(key, result);
    return result.reply;
  }

  private answerOf(metadata: GroupMetadata, query: RoutingQueryDto): ProducerRouting {
    const { metadataVersion, maxObservedVersion } = observationOf(query);
    const { routingLeaseMs, routingRefreshMs } = this.options.timing;
    return {
      streamPrefix: metadata.streamPrefix,
      consumerGroup: metadata.consumerGroup,
      metadataVersion: metadata.metadataVersion,
      shardCount: metadata.shardCount,
      streamKeyPattern: streamKeyPattern(metadata.streamPrefix),
      shards: routeTable(metadata.streamPrefix, metadata.shardCount),
      assignmentEpoch: metadata.assignmentEpoch,
      leaseMs: routingLeaseMs,
      refreshMs: routingRefreshMs,
      regressed: Math.max(metadataVersion, maxObservedVersion ?? 0) > metadata.metadataVersion,
    };
  }
}

function observationOf({ metadataVersion, maxObservedVersion }: RoutingQueryDto): RoutingObservation {
  return { metadataVersion: metadataVersion ?? 0, maxObservedVersion: maxObservedVersion ?? null };
}

/** Members that come and go move the version, but no publisher needs to hear of it at once. */
function routesDifferently({ metadata }: GroupState, known: GroupMetadata): boolean {
  return metadata?.incarnation !== known.incarnation || metadata.shardCount !== known.shardCount;
}
