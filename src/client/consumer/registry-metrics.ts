import type { HeartbeatStatus } from '../../protocol';
import { histogramIn, sampledIn } from '../metrics/sampled-metric';
import type {
  DurationHistogram,
  Labels,
  MetricsRegistry,
  SampledMetric,
  SampledMetricName,
} from '../metrics/sampled-metric';
import type { RedisFault } from '../redis/redis-faults';
import type { RevokeReason } from './consumer-events';
import type { ConsumerMetrics, ConsumerReadings, EntryOutcome } from './consumer-metrics';
import type { TenureEnd } from './session-commands';

/** Counts into a registry, under `redis_stream_client_*`, by stream and consumer group: never by member, shard or entry. */
export class RegistryMetrics implements ConsumerMetrics {
  private readonly group: Labels;
  private readonly counters: Readonly<
    Record<
      | 'entries'
      | 'heartbeats'
      | 'tenures'
      | 'assigned'
      | 'revoked'
      | 'corrections'
      | 'readFaults'
      | 'storeFaults',
      SampledMetric
    >
  >;
  private readonly drains: DurationHistogram;
  private readonly takeovers: DurationHistogram;
  private readonly removeSources: readonly (() => void)[];

  constructor(
    registry: MetricsRegistry,
    streamPrefix: string,
    consumerGroup: string,
    readings: ConsumerReadings,
  ) {
    this.group = { stream: streamPrefix, consumer_group: consumerGroup };
    this.counters = {
      entries: sampledIn(registry, 'redis_stream_client_entries_total'),
      heartbeats: sampledIn(registry, 'redis_stream_client_heartbeats_total'),
      tenures: sampledIn(registry, 'redis_stream_client_tenures_ended_total'),
      assigned: sampledIn(registry, 'redis_stream_client_shards_assigned_total'),
      revoked: sampledIn(registry, 'redis_stream_client_shards_revoked_total'),
      corrections: sampledIn(registry, 'redis_stream_client_correction_rounds_total'),
      readFaults: sampledIn(registry, 'redis_stream_client_read_faults_total'),
      storeFaults: sampledIn(registry, 'redis_stream_client_version_store_faults_total'),
    };
    this.drains = histogramIn(registry, 'redis_stream_client_drain_duration_seconds');
    this.takeovers = histogramIn(registry, 'redis_stream_client_takeover_duration_seconds');
    const { group } = this;
    const gauge = (name: SampledMetricName, read: () => number | null): (() => void) =>
      sampledIn(registry, name).addSource(() => {
        const value = read();
        return value === null ? [] : [{ labels: group, value }];
      });
    this.removeSources = [
      gauge('redis_stream_client_owned_shards', () => readings.ownedShards()),
      gauge('redis_stream_client_revoking_shards', () => readings.revokingShards()),
      gauge('redis_stream_client_correcting_members', () => readings.correctingMembers()),
      gauge('redis_stream_client_lease_remaining_seconds', () => secondsOrNone(readings.leaseRemainingMs())),
      gauge('redis_stream_client_heartbeat_age_seconds', () => secondsOrNone(readings.heartbeatAgeMs())),
    ];
  }

  entries(outcome: EntryOutcome, count: number): void {
    this.counters.entries.add({ ...this.group, outcome }, count);
  }

  heartbeat(status: HeartbeatStatus | 'FAILED'): void {
    this.counters.heartbeats.add({ ...this.group, status }, 1);
  }

  tenureEnded(reason: TenureEnd): void {
    this.counters.tenures.add({ ...this.group, reason }, 1);
  }

  assigned(): void {
    this.counters.assigned.add(this.group, 1);
  }

  revoked(reason: RevokeReason): void {
    this.counters.revoked.add({ ...this.group, reason }, 1);
  }

  drained(durationMs: number): void {
    this.drains.observe(this.group, secondsOf(durationMs));
  }

  takenOver(durationMs: number): void {
    this.takeovers.observe(this.group, secondsOf(durationMs));
  }

  correctionStarted(): void {
    this.counters.corrections.add(this.group, 1);
  }

  fault(kind: RedisFault): void {
    this.counters.readFaults.add({ ...this.group, kind }, 1);
  }

  versionStoreFault(operation: 'load' | 'save'): void {
    this.counters.storeFaults.add({ ...this.group, operation }, 1);
  }

  /** The gauges forget this consumer. */
  close(): void {
    for (const remove of this.removeSources) remove();
  }
}

function secondsOf(lengthMs: number): number {
  return lengthMs / 1_000;
}

function secondsOrNone(lengthMs: number | null): number | null {
  return lengthMs === null ? null : secondsOf(lengthMs);
}
