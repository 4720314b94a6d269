import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { ConsumerReadings } from '../../../src/client/consumer/consumer-metrics';
import { RegistryMetrics } from '../../../src/client/consumer/registry-metrics';
import { CLIENT_METRICS, GROUP_LABELS } from '../../../src/client/metrics/client-metrics';
import type { ClientMetricSpec } from '../../../src/client/metrics/client-metrics';
import { PublisherStats, reportTo } from '../../../src/client/publisher/publisher-metrics';
import { HEARTBEAT_STATUSES } from '../../../src/protocol';

const DOCUMENT = readFileSync(join(__dirname, '..', '..', '..', 'docs', 'metrics.md'), 'utf8');
const CATALOG = Object.entries<ClientMetricSpec>(CLIENT_METRICS);

function readingsOf(changes: Partial<Record<keyof ConsumerReadings, number>> = {}): ConsumerReadings {
  const of = (name: keyof ConsumerReadings) => (): number => changes[name] ?? 0;
  return {
    ownedShards: of('ownedShards'),
    revokingShards: of('revokingShards'),
    correctingMembers: of('correctingMembers'),
    leaseRemainingMs: of('leaseRemainingMs'),
    heartbeatAgeMs: of('heartbeatAgeMs'),
  };
}

function consumerIn(registry: Registry, changes?: Parameters<typeof readingsOf>[0]): RegistryMetrics {
  return new RegistryMetrics(registry, 'orders', 'billing', readingsOf(changes));
}

function publisherIn(registry: Registry, leaseRemainingMs = 1_000, ageMs = 500): PublisherStats {
  const stats = new PublisherStats('orders', 'billing', {
    routingAgeMs: () => ageMs,
    routingLeaseRemainingMs: () => leaseRemainingMs,
    routingRegressions: () => 2,
    inFlight: () => 3,
  });
  reportTo(registry, stats);
  return stats;
}

/** One of everything that can be counted. */
function countAll(consumer: RegistryMetrics, publisher: PublisherStats): void {
  consumer.entries('acked', 1);
  consumer.heartbeat('OK');
  consumer.tenureEnded('LEASE_OVER');
  consumer.assigned();
  consumer.revoked('DRAINED');
  consumer.drained(30);
  consumer.takenOver(30);
  consumer.correctionStarted();
  consumer.fault('TIMEOUT');
  consumer.versionStoreFault('load');
  publisher.countPublished();
  publisher.countFailure(new Error('x'));
  publisher.countVersionStoreFault('save');
}

describe('the metrics of the SDK', () => {
  it('are documented as they are: names, labels, kinds and meanings', () => {
    const section = DOCUMENT.slice(DOCUMENT.indexOf('\n## Client\n'));
    const documented = [...section.matchAll(/^\| `(\w+)` \| ([^|]+) \| (\w+) \| ([^|]+) \|/gm)].map(
      ([, name, labels, kind, help]) => ({
        name,
        labels: [...(labels ?? '').matchAll(/`(\w+)`/g)].map((match) => match[1]),
        kind,
        help,
      }),
    );
    const catalog = CATALOG.map(([name, { kind, labels, help }]) => ({
      name,
      labels: [...GROUP_LABELS, ...labels],
      kind,
      help,
    }));
    expect(documented).toEqual(catalog);
  });

  it('are all served, with the documented labels and no others', async () => {
    const registry = new Registry();
    countAll(consumerIn(registry), publisherIn(registry));
    const text = await registry.metrics();
    const served = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
    expect(served.sort()).toEqual(CATALOG.map(([name, { kind }]) => `${name} ${kind}`).sort());
    for (const [name, { labels }] of CATALOG) {
      const series = new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{([^}]*)\\}`, 'gm');
      const seen = [...text.matchAll(series)].map(([, inner]) =>
        [...(inner ?? '').matchAll(/(\w+)="/g)].map((match) => match[1]).filter((label) => label !== 'le'),
      );
      expect([name, seen.length > 0]).toEqual([name, true]);
      for (const labelNames of seen)
        expect([name, ...labelNames]).toEqual([name, ...GROUP_LABELS, ...labels]);
    }
  });

  it('carry their unit in the name', () => {
    for (const [name, { kind }] of CATALOG) {
      expect(name).toMatch(/^redis_stream_client_[a-z_]+$/);
      expect([name, kind === 'counter']).toEqual([name, name.endsWith('_total')]);
      expect([name, kind === 'histogram']).toEqual([name, name.endsWith('_duration_seconds')]);
      expect(name).not.toMatch(/_(ms|millis|milliseconds)(_|$)/);
    }
  });

  it('count heartbeats by every status of the protocol, and those that got none', async () => {
    const registry = new Registry();
    const consumer = consumerIn(registry);
    for (const status of [...HEARTBEAT_STATUSES, 'FAILED' as const]) consumer.heartbeat(status);
    const text = await registry.metrics();
    for (const status of [...HEARTBEAT_STATUSES, 'FAILED']) {
      expect(text).toContain(`consumer_group="billing",status="${status}"} 1`);
    }
  });

  it('put durations into buckets that add up', async () => {
    const registry = new Registry();
    const consumer = consumerIn(registry);
    for (const durationMs of [4, 5, 200, 90_000]) consumer.drained(durationMs);
    const text = await registry.metrics();
    const name = 'redis_stream_client_drain_duration_seconds';
    const group = 'stream="orders",consumer_group="billing"';
    expect(text).toContain(`${name}_bucket{le="0.005",${group}} 2`);
    expect(text).toContain(`${name}_bucket{le="0.1",${group}} 2`);
    expect(text).toContain(`${name}_bucket{le="0.25",${group}} 3`);
    expect(text).toContain(`${name}_bucket{le="60",${group}} 3`);
    expect(text).toContain(`${name}_bucket{le="+Inf",${group}} 4`);
    expect(text).toContain(`${name}_count{${group}} 4`);
    expect(text).toContain(`${name}_sum{${group}} 90.209`);
  });

  it('of two consumers and publishers of one group are one series: sums, the least lease, the longest age', async () => {
    const registry = new Registry();
    const first = consumerIn(registry, { ownedShards: 2, leaseRemainingMs: 9_000, heartbeatAgeMs: 100 });
    const second = consumerIn(registry, { ownedShards: 3, leaseRemainingMs: 4_000, heartbeatAgeMs: 2_000 });
    first.assigned();
    second.assigned();
    publisherIn(registry, 20_000, 3_000);
    publisherIn(registry, 25_000, 1_000);
    const text = await registry.metrics();
    const expected = {
      owned_shards: 5,
      lease_remaining_seconds: 4,
      heartbeat_age_seconds: 2,
      shards_assigned_total: 2,
      routing_lease_remaining_seconds: 20,
      routing_cache_age_seconds: 3,
      routing_regressions_total: 4,
      publishes_in_flight: 6,
    };
    for (const [name, value] of Object.entries(expected)) {
      expect(text).toContain(
        `redis_stream_client_${name}{stream="orders",consumer_group="billing"} ${value}\n`,
      );
    }
  });

  it('forget the gauges of a consumer that has stopped, and keep what was counted', async () => {
    const registry = new Registry();
    const consumer = consumerIn(registry, { ownedShards: 2 });
    consumer.assigned();
    consumer.close();
    const text = await registry.metrics();
    expect(text).not.toContain('owned_shards{');
    expect(text).toContain('shards_assigned_total{stream="orders",consumer_group="billing"} 1');
  });
});
