import { StreamClientError } from '../errors';

const PUBLISHED = 'published';
const OTHER_FAILURE = 'other';

/** Plain numbers on the hot path; the registry reads them when it is asked. */
export class PublisherStats {
  readonly outcomes = new Map<string, number>();
  refreshFailures = 0;

  constructor(
    readonly streamPrefix: string,
    readonly routingAgeMs: () => number | null,
    readonly inFlight: () => number,
  ) {}

  countPublished(): void {
    this.count(PUBLISHED);
  }

  /** By the error's code, of which there are few. */
  countFailure(error: unknown): void {
    this.count(error instanceof StreamClientError ? error.code.toLowerCase() : OTHER_FAILURE);
  }

  private count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }
}

/** What is used of a prom-client Registry. prom-client itself need not be installed. */
export interface PublisherRegistry {
  registerMetric(metric: never): void;
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric as a prom-client Registry collects it, computed when it is asked for. */
class ComputedMetric {
  readonly aggregator = 'sum';

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: 'counter' | 'gauge',
    private readonly samples: () => readonly Sample[],
  ) {}

  async get(): Promise<unknown> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.samples() };
  }

  /** What is counted belongs to the publishers. */
  reset(): void {
    return undefined;
  }
}

/** The publishers that report to a registry: several may share one. */
const reporting = new WeakMap<PublisherRegistry, Set<PublisherStats>>();

/** Reports `stats` to the registry until the returned function is called. */
export function reportTo(registry: PublisherRegistry, stats: PublisherStats): () => void {
  let sources = reporting.get(registry);
  if (sources === undefined) {
    sources = new Set();
    reporting.set(registry, sources);
    for (const metric of metricsOf(sources)) registry.registerMetric(metric as never);
  }
  const known = sources;
  known.add(stats);
  return () => known.delete(stats);
}

function metricsOf(sources: ReadonlySet<PublisherStats>): ComputedMetric[] {
  const perPublisher = (valueOf: (stats: PublisherStats) => number | null) => (): Sample[] =>
    [...sources].flatMap((stats) => {
      const value = valueOf(stats);
      return value === null ? [] : [{ labels: { stream: stats.streamPrefix }, value }];
    });
  const outcomes = (): Sample[] =>
    [...sources].flatMap((stats) =>
      [...stats.outcomes].map(([outcome, value]) => ({
        labels: { stream: stats.streamPrefix, outcome },
        value,
      })),
    );
  return [
    new ComputedMetric(
      'redis_stream_client_publishes_total',
      'Publishes by outcome: published, or the code of the error in lower case',
      'counter',
      () => summed(outcomes()),
    ),
    new ComputedMetric(
      'redis_stream_client_routing_refresh_failures_total',
      'Refreshes of the producer routing that brought no answer',
      'counter',
      () => summed(perPublisher(({ refreshFailures }) => refreshFailures)()),
    ),
    new ComputedMetric('redis_stream_client_publishes_in_flight', 'Publishes under way', 'gauge', () =>
      summed(perPublisher(({ inFlight }) => inFlight())()),
    ),
    new ComputedMetric(
      'redis_stream_client_routing_cache_age_seconds',
      'Time since the producer routing in use was asked for; of several publishers the oldest',
      'gauge',
      () => oldest(perPublisher(({ routingAgeMs }) => secondsOf(routingAgeMs()))()),
    ),
  ];
}

function secondsOf(lengthMs: number | null): number | null {
  return lengthMs === null ? null : lengthMs / 1_000;
}

/** Publishers of one stream are one series. */
function summed(samples: readonly Sample[]): Sample[] {
  return merged(samples, (a, b) => a + b);
}

function oldest(samples: readonly Sample[]): Sample[] {
  return merged(samples, Math.max);
}

function merged(samples: readonly Sample[], merge: (a: number, b: number) => number): Sample[] {
  const series = new Map<string, Sample>();
  for (const { labels, value } of samples) {
    const key = Object.values(labels).join('\n');
    const known = series.get(key);
    series.set(key, { labels, value: known === undefined ? value : merge(known.value, value) });
  }
  return [...series.values()];
}
