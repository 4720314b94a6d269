import { StreamClientError } from '../errors';
import { sampledIn } from '../metrics/sampled-metric';
import type { MetricsRegistry, Sample, SampledMetricName } from '../metrics/sampled-metric';

const PUBLISHED = 'published';
const OTHER_FAILURE = 'other';

/** What the gauges of a publisher say when they are asked. */
export interface PublisherReadings {
  /** Milliseconds; null while there is no routing. */
  routingAgeMs(): number | null;
  routingLeaseRemainingMs(): number | null;
  routingRegressions(): number;
  inFlight(): number;
}

/** Plain numbers on the hot path; the registry reads them when it is asked. */
export class PublisherStats {
  readonly outcomes = new Map<string, number>();
  readonly versionStoreFaults = new Map<'load' | 'save', number>();
  refreshFailures = 0;

  constructor(
    readonly streamPrefix: string,
    readonly consumerGroup: string,
    readonly readings: PublisherReadings,
  ) {}

  countPublished(): void {
    increment(this.outcomes, PUBLISHED);
  }

  /** By the error's code, of which there are few. */
  countFailure(error: unknown): void {
    increment(this.outcomes, error instanceof StreamClientError ? error.code.toLowerCase() : OTHER_FAILURE);
  }

  countVersionStoreFault(operation: 'load' | 'save'): void {
    increment(this.versionStoreFaults, operation);
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Reports `stats` to the registry, by stream and consumer group, until the returned function is called. */
export function reportTo(registry: MetricsRegistry, stats: PublisherStats): () => void {
  const group = { stream: stats.streamPrefix, consumer_group: stats.consumerGroup };
  const { readings } = stats;
  const report = (name: SampledMetricName, read: () => readonly Sample[]): (() => void) =>
    sampledIn(registry, name).addSource(read);
  const one = (value: number | null): readonly Sample[] => (value === null ? [] : [{ labels: group, value }]);
  const stops = [
    report('redis_stream_client_publishes_total', () =>
      [...stats.outcomes].map(([outcome, value]) => ({ labels: { ...group, outcome }, value })),
    ),
    report('redis_stream_client_version_store_faults_total', () =>
      [...stats.versionStoreFaults].map(([operation, value]) => ({ labels: { ...group, operation }, value })),
    ),
    report('redis_stream_client_routing_refresh_failures_total', () => one(stats.refreshFailures)),
    report('redis_stream_client_routing_regressions_total', () => one(readings.routingRegressions())),
    report('redis_stream_client_publishes_in_flight', () => one(readings.inFlight())),
    report('redis_stream_client_routing_cache_age_seconds', () => one(secondsOf(readings.routingAgeMs()))),
    report('redis_stream_client_routing_lease_remaining_seconds', () =>
      one(secondsOf(readings.routingLeaseRemainingMs())),
    ),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

function secondsOf(lengthMs: number | null): number | null {
  return lengthMs === null ? null : lengthMs / 1_000;
}
