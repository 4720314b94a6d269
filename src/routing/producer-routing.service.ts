import { Inject, Injectable } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { GroupReader } from '../critical-section/group-reader';
import { GroupWatch } from '../critical-section/group-watch';
import type { GroupState } from '../domain/coordinator/decision';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey } from '../domain/ids';
import { routeTable } from '../domain/routing/route-table';
import { streamKeyPattern } from '../domain/routing/shard-keys';
import { ApiError } from '../http/api-error';
import { groupNotFound } from '../http/group-not-found';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import type { ProducerRouting } from '../protocol';
import type { RoutingQueryDto } from './routing.dto';

/** Where a key's entries go. A read: no lock, no section. */
@Injectable()
export class ProducerRoutingService {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly reader: GroupReader,
    private readonly watch: GroupWatch,
    private readonly metrics: CoordinatorMetrics,
  ) {}

  /** @param signal made only when there is something to wait for. */
  async routing(key: GroupKey, query: RoutingQueryDto, signal: () => AbortSignal): Promise<ProducerRouting> {
    const metadata = await this.read(key, query);
    const askedWaitMs = query.waitMs ?? 0;
    const hasNews = query.metadataVersion !== (metadata.metadataVersion as number);
    if (askedWaitMs === 0 || hasNews) return this.answerOf(metadata);
    const waitMs = Math.min(askedWaitMs, this.options.timing.routingRefreshMs);
    await this.watch.waitForChange(key, (state) => routesDifferently(state, metadata), waitMs, signal());
    // Read again: the answer renews the caller's lease, so it must be what Redis holds now.
    return this.answerOf(await this.read(key, query));
  }

  private async read(key: GroupKey, query: RoutingQueryDto): Promise<GroupMetadata> {
    const { metadata } = await this.reader.read(key);
    if (metadata === null) throw groupNotFound(key);
    const observedVersion = Math.max(query.metadataVersion ?? 0, query.maxObservedVersion ?? 0);
    if (observedVersion > metadata.metadataVersion) {
      this.metrics.regressionSeen('ROUTING');
      throw new ApiError(
        'METADATA_REGRESSION',
        `version ${observedVersion} was seen, but ${metadata.metadataVersion} is recorded: Redis lost writes`,
      );
    }
    return metadata;
  }

  private answerOf(metadata: GroupMetadata): ProducerRouting {
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
      regressed: false,
    };
  }
}

/** Members that come and go move the version, but no publisher needs to hear of it at once. */
function routesDifferently({ metadata }: GroupState, known: GroupMetadata): boolean {
  return metadata?.incarnation !== known.incarnation || metadata.shardCount !== known.shardCount;
}
