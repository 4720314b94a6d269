/** Every metric of the SDK, once: docs/metrics.md is checked against this table and against what a registry serves. */
export interface ClientMetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Besides `stream` and `consumer_group`, which the application chose; each a closed set. */
  readonly labels: readonly string[];
  /** How series of several consumers or publishers of one group in a process become one. Default: they are added up. */
  readonly merge?: 'min' | 'max';
  /** Of a histogram: upper bounds, ascending. */
  readonly buckets?: readonly number[];
}

export const GROUP_LABELS = ['stream', 'consumer_group'] as const;

const WAIT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export const CLIENT_METRICS = {
  redis_stream_client_entries_total: {
    kind: 'counter',
    help: 'Entries by what became of them: acked, invalid, dead_lettered, failed, retryable, deleted_pending, ack_refused.',
    labels: ['outcome'],
  },
  redis_stream_client_heartbeats_total: {
    kind: 'counter',
    help: 'Heartbeats by what they were answered: a status of the protocol, or FAILED when no answer with one came.',
    labels: ['status'],
  },
  redis_stream_client_heartbeat_age_seconds: {
    kind: 'gauge',
    help: 'Since a heartbeat was last answered with a status; of several members the longest.',
    labels: [],
    merge: 'max',
  },
  redis_stream_client_lease_remaining_seconds: {
    kind: 'gauge',
    help: 'What is left of the lease by which shards are read; of several members the least, 0 for one without a lease.',
    labels: [],
    merge: 'min',
  },
  redis_stream_client_tenures_ended_total: {
    kind: 'counter',
    help: 'Tenures of members that ended: LEASE_OVER, FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, REFUSED, LEFT.',
    labels: ['reason'],
  },
  redis_stream_client_owned_shards: {
    kind: 'gauge',
    help: 'Shards that are read by this process.',
    labels: [],
  },
  redis_stream_client_revoking_shards: {
    kind: 'gauge',
    help: 'Shards that are being drained, to be reported as revoked.',
    labels: [],
  },
  redis_stream_client_shards_assigned_total: {
    kind: 'counter',
    help: 'Shards that were begun to be read.',
    labels: [],
  },
  redis_stream_client_shards_revoked_total: {
    kind: 'counter',
    help: 'Shards that ceased to be read: DRAINED, or the reason for which the tenure ended.',
    labels: ['reason'],
  },
  redis_stream_client_drain_duration_seconds: {
    kind: 'histogram',
    help: 'From the answer that took a shard away to the moment when nothing of it ran any more.',
    labels: [],
    buckets: WAIT_SECONDS,
  },
  redis_stream_client_takeover_duration_seconds: {
    kind: 'histogram',
    help: 'From when a shard was started, or looked at for lost entries, until all that was pending there was handled.',
    labels: [],
    buckets: WAIT_SECONDS,
  },
  redis_stream_client_correction_rounds_total: {
    kind: 'counter',
    help: 'Correction rounds that this process went through: Redis lost writes of the group, or may have.',
    labels: [],
  },
  redis_stream_client_correcting_members: {
    kind: 'gauge',
    help: 'Members whose last answer was one of a correction round: they keep what they read, and start nothing.',
    labels: [],
  },
  redis_stream_client_read_faults_total: {
    kind: 'counter',
    help: 'Reads that failed and are retried, by kind of fault.',
    labels: ['kind'],
  },
  redis_stream_client_version_store_faults_total: {
    kind: 'counter',
    help: 'What the version store could not do, or not in time: load, save.',
    labels: ['operation'],
  },
  redis_stream_client_publishes_total: {
    kind: 'counter',
    help: 'Publishes by outcome: published, the code of the error in lower case, or other.',
    labels: ['outcome'],
  },
  redis_stream_client_publishes_in_flight: {
    kind: 'gauge',
    help: 'Publishes under way.',
    labels: [],
  },
  redis_stream_client_routing_refresh_failures_total: {
    kind: 'counter',
    help: 'Refreshes of the producer routing that brought no answer.',
    labels: [],
  },
  redis_stream_client_routing_cache_age_seconds: {
    kind: 'gauge',
    help: 'Since the producer routing in use was asked for; of several publishers the longest.',
    labels: [],
    merge: 'max',
  },
  redis_stream_client_routing_lease_remaining_seconds: {
    kind: 'gauge',
    help: 'How long the producer routing may still be used; of several publishers the least.',
    labels: [],
    merge: 'min',
  },
  redis_stream_client_routing_regressions_total: {
    kind: 'counter',
    help: 'Routings that were taken although their version is below one seen before: Redis lost writes.',
    labels: [],
  },
} as const satisfies Readonly<Record<string, ClientMetricSpec>>;

export type ClientMetricName = keyof typeof CLIENT_METRICS;
