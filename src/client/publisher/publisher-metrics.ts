import { Counter, Gauge, type Registry } from 'prom-client';
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

/** The publishers that report to a registry: several may share one. */
const reporting = new WeakMap<Registry, Set<PublisherStats>>();

/** Reports `stats` to the registry until the returned function is called. */
export function reportTo(registry: Registry, stats: PublisherStats): () => void {
  const sources = reporting.get(registry) ?? register(registry);
  sources.add(stats);
  return () => sources.delete(stats);
}

function register(registry: Registry): Set<PublisherStats> {
  const sources = new Set<PublisherStats>();
  reporting.set(registry, sources);
  const registers = [registry];
  const publishes = new Counter({
    name: 'redis_stream_client_publishes_total',
    help: 'Publishes by outcome: published, or the code of the error in lower case',
    labelNames: ['stream_prefix', 'outcome'],
    registers,
    collect: () => {
      publishes.reset();
      for (const { streamPrefix, outcomes } of sources) {
        for (const [outcome, count] of outcomes)
          publishes.inc({ stream_prefix: streamPrefix, outcome }, count);
      }
    },
  });
  const failures = new Counter({
    name: 'redis_stream_client_routing_refresh_failures_total',
    help: 'Refreshes of the producer routing that brought no answer',
    labelNames: ['stream_prefix'],
    registers,
    collect: () => {
      failures.reset();
      for (const { streamPrefix, refreshFailures } of sources) {
        failures.inc({ stream_prefix: streamPrefix }, refreshFailures);
      }
    },
  });
  const age = new Gauge({
    name: 'redis_stream_client_routing_cache_age_seconds',
    help: 'Time since the producer routing in use was asked for',
    labelNames: ['stream_prefix'],
    registers,
    collect: () => {
      age.reset();
      for (const { streamPrefix, routingAgeMs } of sources) {
        const ageMs = routingAgeMs();
        if (ageMs !== null) age.set({ stream_prefix: streamPrefix }, ageMs / 1_000);
      }
    },
  });
  const inFlight = new Gauge({
    name: 'redis_stream_client_publishes_in_flight',
    help: 'Publishes under way',
    labelNames: ['stream_prefix'],
    registers,
    collect: () => {
      inFlight.reset();
      for (const source of sources) inFlight.inc({ stream_prefix: source.streamPrefix }, source.inFlight());
    },
  });
  return sources;
}
