import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CLIENT_METRICS } from '../../src/client/metrics/client-metrics';
import { CoordinatorMetrics } from '../../src/metrics/coordinator-metrics';
import { METRICS, type MetricSpec } from '../../src/metrics/metric-catalog';
import { type CoordinatorApp, heartbeatOf, startCoordinatorApp } from '../support/coordinator-app';
import { type RedisServer, startRedisServer, waitUntil } from '../support/redis-server';

const DOCUMENT = readFileSync(join(__dirname, '..', '..', 'docs', 'metrics.md'), 'utf8');
const GROUP = '/coord/v1/streams/orders/groups/g';

describe('metrics', () => {
  let redis: RedisServer;
  let coordinator: CoordinatorApp;

  beforeAll(async () => {
    redis = await startRedisServer();
    coordinator = await startCoordinatorApp(redis.url);
  });
  afterAll(async () => {
    await coordinator.close();
    await redis.stop();
  });

  const served = async (): Promise<string> => String((await coordinator.call('GET', '/metrics')).body);
  const valueOf = (text: string, series: string): number => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  };

  it('are served as the document says: names, kinds, labels and meanings', async () => {
    const documented = [...DOCUMENT.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \| ([^|]+) \|/gm)].map(
      ([, name, kind, labels, help]) => ({
        name,
        kind,
        labels: [...(labels ?? '').matchAll(/`(\w+)`/g)].map((match) => match[1]),
        help,
      }),
    );
    const catalog = Object.entries<MetricSpec>(METRICS).map(([name, { kind, labels, help }]) => ({
      name,
      kind,
      labels,
      help,
    }));
    expect(documented).toEqual(catalog);
    const text = await served();
    const announced = [...text.matchAll(/^# TYPE (redis_stream_\w+) (\w+)$/gm)].map(
      ([, name, kind]) => `${name} ${kind}`,
    );
    expect(announced.sort()).toEqual(documented.map(({ name, kind }) => `${name} ${kind}`).sort());
  });

  it('are all that the document names, in its questions and alerts too', () => {
    const known = new Set([...Object.keys(METRICS), ...Object.keys(CLIENT_METRICS)]);
    const named = [...DOCUMENT.matchAll(/redis_stream_(?:coord|client)_\w+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    );
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(known.size);
  });

  it('carry their unit in the name', () => {
    for (const [name, { kind }] of Object.entries<MetricSpec>(METRICS)) {
      expect([name, kind === 'counter']).toEqual([name, name.endsWith('_total')]);
      expect(name).not.toMatch(/_(ms|millis|milliseconds)(_|$)/);
    }
  });

  it('count heartbeats by status, errors by code, and requests by route pattern', async () => {
    await coordinator.call('POST', GROUP, { requestedBy: 'test' });
    const before = await served();
    await coordinator.call('POST', `${GROUP}/members/m1/heartbeat`, heartbeatOf('m1'));
    await coordinator.call(
      'POST',
      `${GROUP}/members/m1/heartbeat`,
      heartbeatOf('m1', { protocolVersion: 9 }),
    );
    await coordinator.call('POST', `${GROUP}/members/m1/heartbeat`, heartbeatOf('m1', { memberEpoch: 'x' }));
    await coordinator.call(
      'POST',
      '/coord/v1/streams/orders/groups/none/members/m1/heartbeat',
      heartbeatOf('m1'),
    );
    const after = await served();
    for (const status of ['OK', 'UNSUPPORTED_PROTOCOL', 'INVALID_REQUEST', 'GROUP_NOT_FOUND']) {
      const series = `redis_stream_coord_heartbeats_total{status="${status}"}`;
      expect([status, valueOf(after, series) - valueOf(before, series)]).toEqual([status, 1]);
    }
    const route = '/coord/v1/streams/:streamPrefix/groups/:consumerGroup/members/:memberId/heartbeat';
    const requests = `redis_stream_coord_http_requests_total{method="POST",route="${route}",status_class="4xx"}`;
    expect(valueOf(after, requests) - valueOf(before, requests)).toBe(2);
    const sections = 'redis_stream_coord_section_duration_seconds_count';
    expect(valueOf(after, sections)).toBeGreaterThan(valueOf(before, sections));
  });

  it('count tenures that begin and end, and tell what the event loop saw of the groups', async () => {
    const group = '/coord/v1/streams/seen/groups/g';
    const before = await served();
    const seen = await startCoordinatorApp(redis.url, {
      COORD_ID: 'seeing',
      COORD_TICK_INTERVAL_MS: '50',
      COORD_MEMBER_LEASE_TTL_MS: '1000',
      COORD_HEARTBEAT_INTERVAL_MS: '300',
    });
    try {
      await seen.call('POST', group, { requestedBy: 'test', initialShardCount: 2 });
      await seen.call('POST', `${group}/members/m1/heartbeat`, heartbeatOf('m1'));
      await seen.call('POST', `${group}/members/m2/heartbeat`, heartbeatOf('m2'));
      await redis.cli('HSET', 'redis-stream:coord:{broken:g}:metadata', 'aggregate', '{broken');
      await redis.cli('ZADD', 'redis-stream:coord:groups', '1', 'broken:g');
      const isSeen = async (): Promise<boolean> => {
        const text = String((await seen.call('GET', '/metrics')).body);
        return (
          valueOf(text, 'redis_stream_coord_members{state="EXPIRED"}') >= 2 &&
          valueOf(text, 'redis_stream_coord_unreadable_groups{kind="CORRUPT"}') >= 1 &&
          valueOf(text, 'redis_stream_coord_member_heartbeat_age_seconds_count') >= 2
        );
      };
      await waitUntil('the event loop has seen both expire', 20_000, isSeen);
      const text = String((await seen.call('GET', '/metrics')).body);
      expect(valueOf(text, 'redis_stream_coord_redis_connected')).toBe(1);
      expect(valueOf(text, 'redis_stream_coord_grants_held')).toBe(0);
      expect(valueOf(text, 'redis_stream_coord_loop_last_pass_age_seconds')).toBeLessThan(5);
      expect(valueOf(text, 'redis_stream_coord_groups{state="EMPTY"}')).toBeGreaterThanOrEqual(1);
      expect(valueOf(text, 'redis_stream_coord_migrations_active')).toBe(0);
      const expired = 'redis_stream_coord_tenures_ended_total{reason="EXPIRED"}';
      expect(valueOf(text, expired) - valueOf(before, expired)).toBe(2);
      const joined = 'redis_stream_coord_member_joins_total{kind="JOINED"}';
      expect(valueOf(text, joined) - valueOf(before, joined)).toBe(2);
    } finally {
      await redis.cli('DEL', 'redis-stream:coord:{broken:g}:metadata');
      await seen.close();
    }
  });

  it('count faults of Redis by kind', async () => {
    const series = 'redis_stream_coord_redis_faults_total{fault="OUT_OF_MEMORY"}';
    const before = valueOf(await served(), series);
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
    await coordinator.call('GET', '/health/ready');
    const text = await served();
    await redis.cli('CONFIG', 'SET', 'maxmemory', '0');
    expect(valueOf(text, series)).toBeGreaterThan(before);
    expect(valueOf(text, 'redis_stream_coord_ready')).toBe(0);
  });

  it('never hold a name that a client chose, and keep every label a small set', async () => {
    await coordinator.call('POST', '/coord/v1/streams/chosen-by-client/groups/g', { requestedBy: 'test' });
    await coordinator.call('GET', '/chosen-by-client');
    expect(await served()).not.toContain('chosen-by-client');
    const metrics = coordinator.app.get(CoordinatorMetrics);
    for (let i = 0; i < 300; i += 1) metrics.alerted(`A${i}`);
    const series = [...(await served()).matchAll(/alerts_total\{alert="(\w+)"\}/g)].map((match) => match[1]);
    expect(series.length).toBeLessThanOrEqual(101);
    expect(series).toContain('OTHER');
  });
});
