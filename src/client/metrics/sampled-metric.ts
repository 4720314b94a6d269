import { CLIENT_METRICS } from './client-metrics';
import type { ClientMetricName, ClientMetricSpec } from './client-metrics';

/** What is used of a prom-client Registry. prom-client itself need not be installed. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
}

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

const MERGES = {
  sum: (a: number, b: number): number => a + b,
  min: Math.min,
  max: Math.max,
};

/** A counter or gauge as a prom-client Registry collects it: what was added to it, and what its sources say when it is asked. */
export class SampledMetric {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly aggregator: keyof typeof MERGES;
  private readonly values = new Map<string, { readonly labels: Labels; value: number }>();
  private readonly sources = new Set<() => readonly Sample[]>();

  constructor(
    readonly name: string,
    spec: ClientMetricSpec & { readonly kind: 'counter' | 'gauge' },
  ) {
    this.type = spec.kind;
    this.help = spec.help;
    this.aggregator = spec.merge ?? 'sum';
  }

  add(labels: Labels, amount: number): void {
    const key = seriesOf(labels);
    const known = this.values.get(key);
    if (known === undefined) this.values.set(key, { labels, value: amount });
    else known.value += amount;
  }

  /** Returns how to remove it. */
  addSource(source: () => readonly Sample[]): () => void {
    this.sources.add(source);
    return () => this.sources.delete(source);
  }

  /** Called by the registry. */
  async get(): Promise<unknown> {
    const { name, help, type, aggregator } = this;
    const merge = MERGES[aggregator];
    const merged = new Map<string, Sample>(this.values);
    for (const sample of [...this.sources].flatMap((source) => source())) {
      const key = seriesOf(sample.labels);
      const known = merged.get(key);
      merged.set(key, known === undefined ? sample : { ...known, value: merge(known.value, sample.value) });
    }
    return { name, help, type, aggregator, values: [...merged.values()] };
  }

  /** Called by the registry. */
  reset(): void {
    this.values.clear();
  }
}

interface Observations {
  readonly labels: Labels;
  /** Per bucket, not yet added up. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** A histogram as a prom-client Registry collects it. */
export class DurationHistogram {
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly help: string;
  private readonly buckets: readonly number[];
  private readonly series = new Map<string, Observations>();

  constructor(
    readonly name: string,
    spec: ClientMetricSpec,
  ) {
    this.help = spec.help;
    this.buckets = spec.buckets ?? [];
  }

  observe(labels: Labels, seconds: number): void {
    const key = seriesOf(labels);
    const known = this.series.get(key) ?? { labels, counts: this.buckets.map(() => 0), sum: 0, count: 0 };
    this.series.set(key, known);
    const bucket = this.buckets.findIndex((upperBound) => seconds <= upperBound);
    if (bucket >= 0) known.counts[bucket] = (known.counts[bucket] ?? 0) + 1;
    known.sum += seconds;
    known.count += 1;
  }

  /** Called by the registry. */
  async get(): Promise<unknown> {
    const { name, help, type, aggregator } = this;
    const values = [...this.series.values()].flatMap((series) => this.valuesOf(series));
    return { name, help, type, aggregator, values };
  }

  private valuesOf({ labels, counts, sum, count }: Observations): unknown[] {
    let total = 0;
    const buckets = this.buckets.map((upperBound, index) => {
      total += counts[index] ?? 0;
      return this.bucketOf(labels, upperBound, total);
    });
    return [
      ...buckets,
      this.bucketOf(labels, '+Inf', count),
      { labels, value: sum, metricName: `${this.name}_sum` },
      { labels, value: count, metricName: `${this.name}_count` },
    ];
  }

  private bucketOf(labels: Labels, upperBound: number | string, value: number): unknown {
    return { labels: { le: upperBound, ...labels }, value, metricName: `${this.name}_bucket` };
  }

  /** Called by the registry. */
  reset(): void {
    this.series.clear();
  }
}

type NameOf<Kind> = {
  [Name in ClientMetricName]: (typeof CLIENT_METRICS)[Name]['kind'] extends Kind ? Name : never;
}[ClientMetricName];

export type SampledMetricName = NameOf<'counter' | 'gauge'>;

/** One per registry, whatever the number of consumers and publishers in the process. */
export function sampledIn(registry: MetricsRegistry, name: SampledMetricName): SampledMetric {
  const known = registry.getSingleMetric(name);
  if (known instanceof SampledMetric) return known;
  const metric = new SampledMetric(name, CLIENT_METRICS[name]);
  registry.registerMetric(metric as never);
  return metric;
}

/** The same for durations. */
export function histogramIn(registry: MetricsRegistry, name: NameOf<'histogram'>): DurationHistogram {
  const known = registry.getSingleMetric(name);
  if (known instanceof DurationHistogram) return known;
  const metric = new DurationHistogram(name, CLIENT_METRICS[name]);
  registry.registerMetric(metric as never);
  return metric;
}

/** The same labels are given in the same order. */
function seriesOf(labels: Labels): string {
  return Object.values(labels).join('\n');
}
