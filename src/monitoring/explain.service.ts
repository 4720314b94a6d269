import { Inject, Injectable } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { GroupReader } from '../critical-section/group-reader';
import { LoopView, tenureRules } from '../critical-section/loop-view';
import type { MemberReport } from '../domain/coordinator/decision';
import { explainGroup } from '../domain/group/explain';
import type { GroupMetadata } from '../domain/group/group-metadata';
import type { WaitContext } from '../domain/group/shard-wait';
import type { GroupKey, MemberId, ShardIndex } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import { groupNotFound } from '../http/group-not-found';
import type { ExplainView, ShardProgress } from '../protocol';
import type { MetadataStore } from '../store/metadata-store';
import { METADATA_STORE } from '../store/store.tokens';
import { explainViewOf } from './explain-view';
import { StreamFlows } from './stream-flows';

/** Why each shard of a group is where it is: the group, the last reports and the streams, each read once. */
@Injectable()
export class ExplainService {
  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    @Inject(METADATA_STORE) private readonly store: MetadataStore,
    private readonly reader: GroupReader,
    private readonly loopView: LoopView,
    private readonly flows: StreamFlows,
  ) {}

  async explain(key: GroupKey): Promise<ExplainView> {
    const { timing } = this.options;
    const [group, reports] = await Promise.all([this.reader.read(key), this.store.loadReports(key)]);
    if (group.metadata === null) throw groupNotFound(key);
    const { metadata, leases } = group;
    const nowMs = Math.max(group.redisNowMs, metadata.updatedAtMs) as EpochMillis;
    const movedAtMs = movesOf(metadata, reports);
    const context: WaitContext = {
      nowMs,
      timing,
      ...this.tenureRules(metadata, nowMs),
      heardAtMs: new Map([...reports].map(([memberId, report]) => [memberId, report.receivedAtMs])),
      flows: await this.flows.read({ metadata, nowMs, timing, movedAtMs }),
    };
    return explainViewOf(metadata, explainGroup(metadata, leases, context), context);
  }

  private tenureRules(
    { createdAtMs }: GroupMetadata,
    nowMs: EpochMillis,
  ): Pick<WaitContext, 'mayEndTenures' | 'mayGrant' | 'quiet'> {
    const rules = tenureRules(this.loopView, createdAtMs, nowMs);
    const periods = [this.loopView.quiet, this.loopView.localQuiet]
      .filter((period) => period !== null)
      .filter(({ causedAtMs, untilMs }) => untilMs > nowMs && createdAtMs < causedAtMs);
    // Without a pass nothing is known of their end.
    if (periods.length === 0 || !rules.mayGrant) return { ...rules, quiet: null };
    const sinceMs = Math.min(...periods.map(({ causedAtMs }) => causedAtMs)) as EpochMillis;
    const untilMs = Math.max(...periods.map((period) => period.untilMs)) as EpochMillis;
    return { ...rules, quiet: { sinceMs, untilMs } };
  }
}

/** When the holder of a shard says that it last moved, if it says so. */
function movesOf(
  { shards }: GroupMetadata,
  reports: ReadonlyMap<MemberId, MemberReport>,
): ReadonlyMap<ShardIndex, EpochMillis> {
  const moves = new Map<ShardIndex, EpochMillis>();
  for (const [memberId, { progress }] of reports) {
    // Checked when it was reported, opaque since.
    for (const { shard, updatedAt } of progress as readonly ShardProgress[]) {
      const index = shard.shardIndex as ShardIndex;
      const occupancy = shards[index]?.occupancy;
      if (occupancy?.kind !== 'HELD' || occupancy.memberId !== memberId) continue;
      const movedMs = typeof updatedAt === 'string' ? Date.parse(updatedAt) : (updatedAt ?? Number.NaN);
      if (!Number.isNaN(movedMs)) moves.set(index, movedMs as EpochMillis);
    }
  }
  return moves;
}
