import type { ConsumerMetrics, EntryOutcome } from './consumer-metrics';

/** What is used of a prom-client Registry. prom-client itself need not be installed. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
}

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** A metric as a prom-client Registry collects it. */
class SampledMetric {
  readonly aggregator = 'sum';
  private readonly values = new Map<string, { readonly labels: Labels; value: number }>();
  private readonly sources = new Set<() => Sample>();

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: 'counter' | 'gauge',
  ) {}

  add(labels: Labels, amount: number): void {
    const key = Object.values(labels).join('\n');
    const known = this.values.get(key);
    if (known === undefined) this.values.set(key, { labels, value: amount });
    else known.value += amount;
  }

  addSource(source: () => Sample): () => void {
    this.sources.add(source);
    return () => this.sources.delete(source);
  }

  /** Called by the registry. */
  async get(): Promise<unknown> {
    const { name, help, type, aggregator } = this;
    const read = [...this.sources].map((source) => source());
    const summed = new Map<string, { readonly labels: Labels; value: number }>(this.values);
    for (const { labels, value } of read) {
      const key = Object.values(labels).join('\n');
      summed.set(key, { labels, value: (summed.get(key)?.value ?? 0) + value });
    }
    return { name, help, type, aggregator, values: [...summed.values()] };
  }

  /** Called by the registry. */
  reset(): void {
    this.values.clear();
  }
}

/** One per registry, whatever the number of consumers in the process. */
function metricIn(
  registry: MetricsRegistry,
  type: 'counter' | 'gauge',
  name: string,
  help: string,
): SampledMetric {
  const fullName = `redis_stream_client_${name}`;
  const known = registry.getSingleMetric(fullName);
  if (known instanceof SampledMetric) return known;
  const metric = new SampledMetric(fullName, help, type);
  registry.registerMetric(metric as never);
  return metric;
}

/** Counts into a registry, under `redis_stream_client_*`, by stream and consumer group: never by member, shard or entry. */
export class RegistryMetrics implements ConsumerMetrics {
  private readonly entryCounter: SampledMetric;
  private readonly heartbeatCounter: SampledMetric;
  private readonly tenureCounter: SampledMetric;
  private readonly faultCounter: SampledMetric;
  private readonly group: Labels;
  private readonly removeSource: () => void;

  constructor(
    registry: MetricsRegistry,
    streamPrefix: string,
    consumerGroup: string,
    ownedShards: () => number,
  ) {
    this.group = { stream: streamPrefix, consumer_group: consumerGroup };
    const counter = (name: string, help: string): SampledMetric => metricIn(registry, 'counter', name, help);
    this.entryCounter = counter('entries_total', 'Entries by what became of them.');
    this.heartbeatCounter = counter('heartbeats_total', 'Heartbeats sent, by whether they were answered.');
    this.tenureCounter = counter('tenures_ended_total', 'Tenures of members that ended, by reason.');
    this.faultCounter = counter('read_faults_total', 'Reads that failed and are retried, by kind.');
    const owned = metricIn(registry, 'gauge', 'owned_shards', 'Shards that are read by this process.');
    this.removeSource = owned.addSource(() => ({ labels: this.group, value: ownedShards() }));
  }

  entries(outcome: EntryOutcome, count: number): void {
    this.entryCounter.add({ ...this.group, outcome }, count);
  }

  heartbeat(result: 'answered' | 'failed'): void {
    this.heartbeatCounter.add({ ...this.group, result }, 1);
  }

  tenureEnded(reason: string): void {
    this.tenureCounter.add({ ...this.group, reason }, 1);
  }

  fault(kind: string): void {
    this.faultCounter.add({ ...this.group, kind }, 1);
  }

  /** The gauge forgets this consumer. */
  close(): void {
    this.removeSource();
  }
}
