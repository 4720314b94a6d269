import type { OPTIONS } from './options';

/** Each option's value by its name in the table, before the rules across options were checked. */
export type OptionValues = {
  readonly [Name in keyof typeof OPTIONS]: (typeof OPTIONS)[Name]['defaultValue'];
};

/** A rule over several options; null when it holds. Only checked when all its options could be read. */
interface Rule {
  readonly options: readonly (keyof OptionValues)[];
  readonly check: (values: OptionValues) => string | null;
}

const RULES: readonly Rule[] = [
  {
    options: ['heartbeatIntervalMs', 'memberLeaseTtlMs'],
    check: (values) =>
      3 * values.heartbeatIntervalMs <= values.memberLeaseTtlMs
        ? null
        : `3 x COORD_HEARTBEAT_INTERVAL_MS (${values.heartbeatIntervalMs}) must not exceed COORD_MEMBER_LEASE_TTL_MS (${values.memberLeaseTtlMs}): two lost heartbeats must not cost a member its lease`,
  },
  {
    options: ['memberLeaseTtlMs', 'rebalanceTimeoutMs'],
    check: (values) =>
      values.memberLeaseTtlMs <= values.rebalanceTimeoutMs
        ? null
        : `COORD_MEMBER_LEASE_TTL_MS (${values.memberLeaseTtlMs}) must not exceed COORD_REBALANCE_TIMEOUT_MS (${values.rebalanceTimeoutMs}): a member that died must be noticed before one that drains is fenced`,
  },
  {
    options: ['routingRefreshMs', 'routingLeaseMs'],
    check: (values) =>
      values.routingRefreshMs < values.routingLeaseMs
        ? null
        : `COORD_ROUTING_REFRESH_MS (${values.routingRefreshMs}) must be below COORD_ROUTING_LEASE_MS (${values.routingLeaseMs}): a routing must be refreshed before it runs out`,
  },
  {
    options: ['defaultShardCount', 'maxShardCount'],
    check: (values) =>
      values.defaultShardCount <= values.maxShardCount
        ? null
        : `COORD_DEFAULT_SHARD_COUNT (${values.defaultShardCount}) must not exceed COORD_MAX_SHARD_COUNT (${values.maxShardCount})`,
  },
  {
    options: ['host', 'authentication'],
    check: (values) =>
      isLoopback(values.host) || values.authentication === 'disabled'
        ? null
        : `HOST ${values.host} is reachable from other machines and there is no authentication: listen on 127.0.0.1, or say AUTH=disabled`,
  },
];

/** Not wrong, but rarely meant: told once in the log at start. */
const WARNINGS: readonly Rule[] = [
  {
    options: ['host', 'authentication'],
    check: (values) =>
      values.authentication === 'disabled' && !isLoopback(values.host)
        ? `AUTH=disabled and HOST=${values.host}: whoever reaches the port may create, change and delete groups`
        : null,
  },
  {
    options: ['lockTtlMs', 'memberLeaseTtlMs'],
    check: (values) =>
      values.lockTtlMs > values.memberLeaseTtlMs
        ? 'COORD_LOCK_TTL_MS is above COORD_MEMBER_LEASE_TTL_MS: a coordinator that dies inside a section can cost members their leases'
        : null,
  },
  {
    options: ['tickIntervalMs', 'memberLeaseTtlMs'],
    check: (values) =>
      values.tickIntervalMs > values.memberLeaseTtlMs
        ? 'COORD_TICK_INTERVAL_MS is above COORD_MEMBER_LEASE_TTL_MS: members that died are noticed late'
        : null,
  },
  {
    options: ['memberRetentionMs', 'memberLeaseTtlMs'],
    check: (values) =>
      values.memberRetentionMs < values.memberLeaseTtlMs
        ? 'COORD_MEMBER_RETENTION_MS is below COORD_MEMBER_LEASE_TTL_MS: fenced members may be forgotten before they hear of it'
        : null,
  },
];

export function brokenRules(values: OptionValues, faulty: ReadonlySet<string>): string[] {
  return verdicts(RULES, values, faulty);
}

export function warningsOf(values: OptionValues): string[] {
  return verdicts(WARNINGS, values, new Set());
}

function verdicts(rules: readonly Rule[], values: OptionValues, faulty: ReadonlySet<string>): string[] {
  return rules
    .filter((rule) => !rule.options.some((name) => faulty.has(name)))
    .map((rule) => rule.check(values))
    .filter((verdict) => verdict !== null);
}

const LOOPBACK_V4 = /^127(\.\d{1,3}){3}$/;

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || LOOPBACK_V4.test(host);
}
