/** Every metric of the coordinator, once: docs/metrics.md is checked against this table and against /metrics. */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Each a closed set; never a group, member or key. */
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const SECONDS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A round takes a lease at least, two leases and a rebalance timeout and one more lease at most. */
const ROUND_SECONDS = [1, 2.5, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180];
/** Heartbeats come every few seconds; a lease is some times as long. */
const HEARTBEAT_AGES = [0.5, 1, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60];
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export const METRICS = {
  redis_stream_coord_http_requests_total: {
    kind: 'counter',
    help: 'HTTP requests answered, by route pattern and class of status (2xx, 4xx, 5xx).',
    labels: ['method', 'route', 'status_class'],
  },
  redis_stream_coord_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'From the head of a request to the end of its answer, long polls included.',
    labels: ['route'],
    buckets: SECONDS,
  },
  redis_stream_coord_heartbeats_total: {
    kind: 'counter',
    help: 'Heartbeats by what they were answered: a status of the protocol or an error code.',
    labels: ['status'],
  },
  redis_stream_coord_long_polls_waiting: {
    kind: 'gauge',
    help: 'Heartbeats and routing reads that are held until something changes.',
    labels: [],
  },
  redis_stream_coord_commands_total: {
    kind: 'counter',
    help: 'Commands that a critical section decided, by name: COMMITTED, UNCHANGED or FAILED.',
    labels: ['command', 'outcome'],
  },
  redis_stream_coord_section_duration_seconds: {
    kind: 'histogram',
    help: 'A critical section, from having the Redis lock to its answer.',
    labels: [],
    buckets: SECONDS,
  },
  redis_stream_coord_section_batch_size: {
    kind: 'histogram',
    help: 'Commands that one section decided together (group commit).',
    labels: [],
    buckets: BATCH_SIZES,
  },
  redis_stream_coord_lock_wait_seconds: {
    kind: 'histogram',
    help: 'How long a section waited for the Redis lock of its group.',
    labels: [],
    buckets: SECONDS,
  },
  redis_stream_coord_queue_full_total: {
    kind: 'counter',
    help: 'Requests that were refused because too many were waiting.',
    labels: [],
  },
  redis_stream_coord_lease_fast_path_total: {
    kind: 'counter',
    help: 'Heartbeats that renewed their lease without a section (HIT), or why one was needed.',
    labels: ['outcome'],
  },
  redis_stream_coord_commit_refusals_total: {
    kind: 'counter',
    help: 'Commits that were refused: the group moved, a lease moved, the lock was lost, the time budget was over.',
    labels: ['kind'],
  },
  redis_stream_coord_metadata_regressions_total: {
    kind: 'counter',
    help: 'Correction rounds that were started because Redis lost writes or may have, by what betrayed it.',
    labels: ['cause'],
  },
  redis_stream_coord_correction_duration_seconds: {
    kind: 'histogram',
    help: 'Correction rounds, from their start to their end.',
    labels: ['cause'],
    buckets: ROUND_SECONDS,
  },
  redis_stream_coord_member_joins_total: {
    kind: 'counter',
    help: 'Tenures that began: of a member that was not recorded (JOINED), or of one that was (REJOINED).',
    labels: ['kind'],
  },
  redis_stream_coord_tenures_ended_total: {
    kind: 'counter',
    help: 'Tenures that ended, by why: EXPIRED, FENCED_*, REPLACED, LEFT or GROUP_DELETED.',
    labels: ['reason'],
  },
  redis_stream_coord_groups: {
    kind: 'gauge',
    help: 'Groups by state, as the event loop of this coordinator saw them last.',
    labels: ['state'],
  },
  redis_stream_coord_members: {
    kind: 'gauge',
    help: 'Members by state, as the event loop of this coordinator saw them last.',
    labels: ['state'],
  },
  redis_stream_coord_unreadable_groups: {
    kind: 'gauge',
    help: 'Groups whose stored value the event loop could not read: CORRUPT or SCHEMA_UNSUPPORTED.',
    labels: ['kind'],
  },
  redis_stream_coord_unprovisioned_groups: {
    kind: 'gauge',
    help: 'Groups whose streams do not all exist yet.',
    labels: [],
  },
  redis_stream_coord_member_heartbeat_age_seconds: {
    kind: 'histogram',
    help: 'Since the last heartbeat of each live member, at each look of the event loop.',
    labels: [],
    buckets: HEARTBEAT_AGES,
  },
  redis_stream_coord_lease_remaining_min_seconds: {
    kind: 'gauge',
    help: 'The shortest lease that the event loop saw at its last looks; NaN when there is no member.',
    labels: [],
  },
  redis_stream_coord_revoking_shards: {
    kind: 'gauge',
    help: 'Shards whose holder was asked to let them go and has not yet.',
    labels: [],
  },
  redis_stream_coord_oldest_drain_age_seconds: {
    kind: 'gauge',
    help: 'Since the oldest open drain was asked for; 0 when there is none.',
    labels: [],
  },
  redis_stream_coord_blocked_shards: {
    kind: 'gauge',
    help: 'Shards that wait for the lease of a fenced or replaced tenure to end.',
    labels: [],
  },
  redis_stream_coord_ungranted_shards: {
    kind: 'gauge',
    help: 'Shards that are free, have a target and are not granted.',
    labels: [],
  },
  redis_stream_coord_conflicted_shards: {
    kind: 'gauge',
    help: 'Shards that a member reads by a grant that Redis lost.',
    labels: [],
  },
  redis_stream_coord_correction_rounds_active: {
    kind: 'gauge',
    help: 'Groups in a correction round.',
    labels: [],
  },
  redis_stream_coord_oldest_correction_age_seconds: {
    kind: 'gauge',
    help: 'Since the oldest open correction round started; 0 when there is none.',
    labels: [],
  },
  redis_stream_coord_correction_pending_members: {
    kind: 'gauge',
    help: 'Members of groups in a correction round that have not told what they read.',
    labels: [],
  },
  redis_stream_coord_migrations_active: {
    kind: 'gauge',
    help: 'Groups whose shard count is being changed; always 0 in this version.',
    labels: [],
  },
  redis_stream_coord_alerts_total: {
    kind: 'counter',
    help: 'What a person should look at: a broken invariant, a client that claims a shard it was never granted, metadata that is gone.',
    labels: ['alert'],
  },
  redis_stream_coord_metadata_unreadable_total: {
    kind: 'counter',
    help: 'Groups whose stored value could not be read: corrupt, or of an unknown schema.',
    labels: ['kind'],
  },
  redis_stream_coord_redis_faults_total: {
    kind: 'counter',
    help: 'Redis calls that failed, by kind of fault.',
    labels: ['fault'],
  },
  redis_stream_coord_redis_connected: {
    kind: 'gauge',
    help: '1 while the connection to Redis is open.',
    labels: [],
  },
  redis_stream_coord_redis_missing_commands: {
    kind: 'gauge',
    help: 'Redis commands that the coordinator needs and may not use, as last asked.',
    labels: [],
  },
  redis_stream_coord_provisioning_failures_total: {
    kind: 'counter',
    help: 'Attempts to create the streams of a group that failed.',
    labels: [],
  },
  redis_stream_coord_loop_pass_lag_seconds: {
    kind: 'gauge',
    help: 'How late the last pass of the event loop began; grows when passes take longer than the tick.',
    labels: [],
  },
  redis_stream_coord_loop_last_pass_age_seconds: {
    kind: 'gauge',
    help: 'Since the event loop of this coordinator last passed, by the Redis clock; NaN before the first pass.',
    labels: [],
  },
  redis_stream_coord_quiet_period_active: {
    kind: 'gauge',
    help: '1 while nobody is expired: Redis was away, or its clock jumped.',
    labels: [],
  },
  redis_stream_coord_quiet_period_remaining_seconds: {
    kind: 'gauge',
    help: 'Until the quiet period ends; 0 when there is none.',
    labels: [],
  },
  redis_stream_coord_grants_held: {
    kind: 'gauge',
    help: '1 while this coordinator ends no tenure and grants nothing, because its event loop has to pass first.',
    labels: [],
  },
  redis_stream_coord_loop_passes_total: {
    kind: 'counter',
    help: 'Passes of the event loop by outcome.',
    labels: ['outcome'],
  },
  redis_stream_coord_loop_group_failures_total: {
    kind: 'counter',
    help: 'Groups that the event loop could not look at, by error code.',
    labels: ['code'],
  },
  redis_stream_coord_terminating: {
    kind: 'gauge',
    help: '1 while this coordinator is terminating.',
    labels: [],
  },
  redis_stream_coord_ready: {
    kind: 'gauge',
    help: '1 if the last readiness probe wrote to Redis and read it back.',
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof METRICS;
