import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, register } from 'prom-client';
import type { GroupState } from '../domain/coordinator/decision';
import type { CoordinationTiming, EpochMillis } from '../domain/time';
import { BoundedLabel, OTHER } from './bounded-labels';
import { lookAtGroup } from './group-look';
import { GroupTally, type GroupTotals, type UnreadableKind } from './group-tally';
import { METRICS, type MetricName, type MetricSpec } from './metric-catalog';
import { type CommittedChange, tenureChanges } from './tenure-changes';

type NameOf<Kind extends MetricSpec['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

const MS_PER_SECOND = 1_000;
const STATUS_CLASSES = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx'];
/** Values of one label at most. Routes, commands and codes are some dozens; this holds even if one is not. */
const LABEL_VALUES = 100;
/** Every group is looked at once per lease; one that was not looked at here for this many is another coordinator's. */
const LOOK_KEPT_LEASES = 2;

/** What this coordinator knows of Redis and of its own event loop when it is asked. Milliseconds; null: never, or none. */
export interface CoordinatorStanding {
  readonly isRedisConnected: boolean;
  readonly lastPassAgeMs: number | null;
  readonly quietRemainingMs: number | null;
  readonly mayGrant: boolean;
}

/**
 * What the coordinator counts and measures, one method per event. Satisfies the metrics ports of the critical section and
 * of the event loop. Series live in prom-client's default registry, which /metrics prints.
 */
@Injectable()
export class CoordinatorMetrics {
  private readonly counters = new Map<string, Counter>();
  private readonly gauges = new Map<string, Gauge>();
  private readonly histograms = new Map<string, Histogram>();
  private readonly labels = new Map<string, ReadonlyMap<string, BoundedLabel>>();
  private readonly tally = new GroupTally(() => performance.now());
  private readonly refreshes: (() => void)[] = [];

  constructor() {
    for (const [name, spec] of Object.entries<MetricSpec>(METRICS)) this.create(name, spec);
  }

  /** `refresh` sets gauges that nobody keeps up to date, each time before the metrics are printed. */
  onScrape(refresh: () => void): void {
    this.refreshes.push(refresh);
  }

  beforeScrape(): void {
    this.groupsCounted(this.tally.totals());
    for (const refresh of this.refreshes) refresh();
  }

  // --- HTTP
  requestAnswered(method: string, route: string, httpStatus: number, ms: number): void {
    const status_class = STATUS_CLASSES[Math.floor(httpStatus / 100)] ?? OTHER;
    this.count('redis_stream_coord_http_requests_total', { method, route, status_class });
    this.observe('redis_stream_coord_http_request_duration_seconds', ms / MS_PER_SECOND, { route });
  }

  heartbeatAnswered(status: string): void {
    this.count('redis_stream_coord_heartbeats_total', { status });
  }

  longPollsWaiting(count: number): void {
    this.set('redis_stream_coord_long_polls_waiting', count);
  }

  correctionStarted(cause: string): void {
    this.count('redis_stream_coord_metadata_regressions_total', { cause });
  }

  correctionEnded(cause: string, ms: number): void {
    this.observe('redis_stream_coord_correction_duration_seconds', ms / MS_PER_SECOND, { cause });
  }

  // --- critical section
  lockWaited(ms: number): void {
    this.observe('redis_stream_coord_lock_wait_seconds', ms / MS_PER_SECOND);
  }

  sectionEnded(ms: number, batchSize: number): void {
    this.observe('redis_stream_coord_section_duration_seconds', ms / MS_PER_SECOND);
    this.observe('redis_stream_coord_section_batch_size', batchSize);
  }

  commitRefused(kind: string): void {
    this.count('redis_stream_coord_commit_refusals_total', { kind });
  }

  queueFull(): void {
    this.count('redis_stream_coord_queue_full_total');
  }

  decided(command: string, outcome: string): void {
    this.count('redis_stream_coord_commands_total', { command, outcome });
  }

  fastPathHit(count: number): void {
    this.count('redis_stream_coord_lease_fast_path_total', { outcome: 'HIT' }, count);
  }

  fastPathMiss(reason: string): void {
    this.count('redis_stream_coord_lease_fast_path_total', { outcome: reason });
  }

  /** Tenures that began and ended by a write. */
  committed(change: CommittedChange): void {
    const { joins, ends } = tenureChanges(change);
    for (const kind of joins) this.count('redis_stream_coord_member_joins_total', { kind });
    for (const reason of ends) this.count('redis_stream_coord_tenures_ended_total', { reason });
  }

  alerted(alert: string): void {
    this.count('redis_stream_coord_alerts_total', { alert });
  }

  metadataUnreadable(kind: string): void {
    this.count('redis_stream_coord_metadata_unreadable_total', { kind });
  }

  redisFault(fault: string): void {
    this.count('redis_stream_coord_redis_faults_total', { fault });
  }

  provisioningFailed(): void {
    this.count('redis_stream_coord_provisioning_failures_total');
  }

  // --- event loop and process
  loopPassEnded(outcome: string): void {
    this.count('redis_stream_coord_loop_passes_total', { outcome });
  }

  loopPassLagged(ms: number): void {
    this.set('redis_stream_coord_loop_pass_lag_seconds', ms / MS_PER_SECOND);
  }

  loopGroupMissing(): void {
    this.alerted('METADATA_MISSING');
  }

  loopGroupFailed(code: string): void {
    this.count('redis_stream_coord_loop_group_failures_total', { code });
  }

  /** As the event loop found a group at `nowMs` of the Redis clock. */
  groupLooked(
    group: string,
    { metadata, leases }: GroupState,
    nowMs: EpochMillis,
    timing: CoordinationTiming,
  ): void {
    if (metadata === null) {
      this.tally.gone(group);
      return;
    }
    const look = lookAtGroup(metadata, leases, { nowMs, timing });
    this.tally.looked(group, look, LOOK_KEPT_LEASES * timing.memberLeaseTtlMs);
    for (const ageMs of look.heartbeatAgesMs)
      this.observe('redis_stream_coord_member_heartbeat_age_seconds', ageMs / MS_PER_SECOND);
  }

  groupUnreadable(group: string, kind: UnreadableKind, timing: CoordinationTiming): void {
    this.tally.unreadable(group, kind, LOOK_KEPT_LEASES * timing.memberLeaseTtlMs);
  }

  standing({ isRedisConnected, lastPassAgeMs, quietRemainingMs, mayGrant }: CoordinatorStanding): void {
    this.set('redis_stream_coord_redis_connected', isRedisConnected ? 1 : 0);
    this.set('redis_stream_coord_loop_last_pass_age_seconds', secondsOf(lastPassAgeMs, Number.NaN));
    this.set('redis_stream_coord_quiet_period_active', quietRemainingMs === null ? 0 : 1);
    this.set('redis_stream_coord_quiet_period_remaining_seconds', secondsOf(quietRemainingMs));
    this.set('redis_stream_coord_grants_held', mayGrant ? 0 : 1);
  }

  missingCommands(count: number): void {
    this.set('redis_stream_coord_redis_missing_commands', count);
  }

  terminating(isTerminating: boolean): void {
    this.set('redis_stream_coord_terminating', isTerminating ? 1 : 0);
  }

  ready(isReady: boolean): void {
    this.set('redis_stream_coord_ready', isReady ? 1 : 0);
  }

  private count(name: NameOf<'counter'>, labels: Record<string, string> = {}, by = 1): void {
    this.counters.get(name)?.inc(this.bounded(name, labels), by);
  }

  private groupsCounted(totals: GroupTotals): void {
    this.setEach('redis_stream_coord_groups', 'state', totals.groups);
    this.setEach('redis_stream_coord_members', 'state', totals.members);
    this.setEach('redis_stream_coord_unreadable_groups', 'kind', totals.unreadable);
    this.set('redis_stream_coord_lease_remaining_min_seconds', secondsOf(totals.shortestLeaseMs, Number.NaN));
    this.set('redis_stream_coord_revoking_shards', totals.revokingShards);
    this.set('redis_stream_coord_oldest_drain_age_seconds', secondsOf(totals.oldestDrainAgeMs));
    this.set('redis_stream_coord_blocked_shards', totals.blockedShards);
    this.set('redis_stream_coord_conflicted_shards', totals.conflictedShards);
    this.set('redis_stream_coord_ungranted_shards', totals.ungrantedShards);
    this.set('redis_stream_coord_unprovisioned_groups', totals.unprovisionedGroups);
    this.set('redis_stream_coord_correction_rounds_active', totals.activeRounds);
    this.set('redis_stream_coord_oldest_correction_age_seconds', secondsOf(totals.oldestRoundAgeMs));
    this.set('redis_stream_coord_correction_pending_members', totals.membersToTell);
    // The layout of a stream cannot be changed yet.
    this.set('redis_stream_coord_migrations_active', 0);
  }

  private set(name: NameOf<'gauge'>, value: number): void {
    this.gauges.get(name)?.set(value);
  }

  private setEach(name: NameOf<'gauge'>, label: string, values: ReadonlyMap<string, number>): void {
    for (const [value, count] of values)
      this.gauges.get(name)?.set(this.bounded(name, { [label]: value }), count);
  }

  private observe(name: NameOf<'histogram'>, value: number, labels: Record<string, string> = {}): void {
    this.histograms.get(name)?.observe(this.bounded(name, labels), value);
  }

  /** Changes `labels`, which nobody else holds: this runs with every request. */
  private bounded(name: string, labels: Record<string, string>): Record<string, string> {
    const limits = this.labels.get(name);
    for (const label in labels) labels[label] = limits?.get(label)?.of(labels[label] ?? OTHER) ?? OTHER;
    return labels;
  }

  /** A second application in the same process (tests) shares the series of the first. */
  private create(name: string, spec: MetricSpec): void {
    const settings = { name, help: spec.help, labelNames: [...spec.labels] };
    this.labels.set(name, new Map(spec.labels.map((label) => [label, new BoundedLabel(LABEL_VALUES)])));
    const existing = register.getSingleMetric(name);
    if (spec.kind === 'counter') {
      this.counters.set(name, existing instanceof Counter ? existing : new Counter(settings));
    } else if (spec.kind === 'gauge') {
      this.gauges.set(name, existing instanceof Gauge ? existing : new Gauge(settings));
    } else {
      const buckets = [...(spec.buckets ?? [])];
      const histogram = existing instanceof Histogram ? existing : new Histogram({ ...settings, buckets });
      this.histograms.set(name, histogram);
    }
  }
}

function secondsOf(ms: number | null, otherwise = 0): number {
  return ms === null ? otherwise : ms / MS_PER_SECOND;
}
