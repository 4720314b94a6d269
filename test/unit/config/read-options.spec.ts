import { describe, expect, it } from '@jest/globals';
import { renderConfigurationTable } from '../../../src/config/configuration-table';
import { OPTIONS } from '../../../src/config/options';
import { type Environment, readOptions } from '../../../src/config/read-options';

function optionsOf(environment: Environment) {
  const outcome = readOptions(environment);
  if (!outcome.ok) throw new Error(outcome.refusal.join('\n'));
  return outcome.value;
}

function faultsOf(environment: Environment): readonly string[] {
  const outcome = readOptions(environment);
  return outcome.ok ? [] : outcome.refusal;
}

describe('the options', () => {
  it('have the documented defaults', () => {
    const { options, warnings } = optionsOf({});
    expect(options).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      redisUrl: 'redis://127.0.0.1:6379',
      keyPrefix: 'redis-stream:coord',
      timing: {
        heartbeatIntervalMs: 3000,
        memberLeaseTtlMs: 15_000,
        rebalanceTimeoutMs: 60_000,
        tickIntervalMs: 1000,
        lockTtlMs: 5000,
        routingRefreshMs: 5000,
        routingLeaseMs: 30_000,
        memberRetentionMs: 600_000,
      },
      defaultShardCount: 4,
      maxShardCount: 4096,
      maxMembers: 2000,
      shutdownGraceMs: 10_000,
      logLevel: 'info',
      authentication: 'loopback-only',
    });
    expect(warnings).toEqual([]);
  });

  it('are frozen, nested ones too', () => {
    const { options } = optionsOf({});
    expect([options, options.timing, options.limits].every((part) => Object.isFrozen(part))).toBe(true);
  });

  it('accept the floors that tests use', () => {
    const { options } = optionsOf({
      COORD_MEMBER_LEASE_TTL_MS: '500',
      COORD_HEARTBEAT_INTERVAL_MS: '100',
      COORD_REBALANCE_TIMEOUT_MS: '1000',
      COORD_TICK_INTERVAL_MS: '50',
      COORD_LOCK_TTL_MS: '500',
    });
    expect(options.timing.memberLeaseTtlMs).toBe(500);
  });

  it.each([
    ['COORD_MEMBER_LEASE_TTL_MS', '499'],
    ['COORD_HEARTBEAT_INTERVAL_MS', '99'],
    ['COORD_REBALANCE_TIMEOUT_MS', '999'],
    ['COORD_TICK_INTERVAL_MS', '49'],
    ['COORD_LOCK_TTL_MS', '499'],
    ['PORT', '65536'],
  ])('refuse %s=%s, just outside its bounds, instead of clamping it', (variable, text) => {
    expect(faultsOf({ [variable]: text })).toContainEqual(expect.stringContaining(`${variable} must be`));
  });

  it.each(['5.5', '0x10', '1e3', '-1', '+5', ' 5', '5 ', '', '05', '5s', 'five', '99999999999999999999'])(
    'refuse %j as an integer',
    (text) => {
      expect(faultsOf({ PORT: text })).toEqual([expect.stringContaining('PORT must be a whole number')]);
    },
  );

  it('report every fault at once', () => {
    const faults = faultsOf({ PORT: 'x', LOG_LEVEL: 'loud', COORD_ID: 'a b', AUTH: 'off' });
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual(['PORT', 'COORD_ID', 'LOG_LEVEL', 'AUTH']);
  });

  it('refuse a key prefix with braces, which would move hash slots', () => {
    expect(faultsOf({ COORD_KEY_PREFIX: 'a{b}' })).toHaveLength(1);
  });
});

describe('rules across options', () => {
  it.each([
    [
      'COORD_HEARTBEAT_INTERVAL_MS',
      { COORD_HEARTBEAT_INTERVAL_MS: '5001' },
      { COORD_HEARTBEAT_INTERVAL_MS: '5000' },
    ],
    [
      'COORD_REBALANCE_TIMEOUT_MS',
      { COORD_REBALANCE_TIMEOUT_MS: '14999' },
      { COORD_REBALANCE_TIMEOUT_MS: '15000' },
    ],
    [
      'COORD_ROUTING_REFRESH_MS',
      { COORD_ROUTING_REFRESH_MS: '30000' },
      { COORD_ROUTING_REFRESH_MS: '29999' },
    ],
    [
      'COORD_DEFAULT_SHARD_COUNT',
      { COORD_DEFAULT_SHARD_COUNT: '4097' },
      { COORD_DEFAULT_SHARD_COUNT: '4096' },
    ],
  ])('refuse %s in contradiction to its partner, and accept its neighbour', (variable, wrong, right) => {
    expect(faultsOf(wrong)).toEqual([expect.stringContaining(variable)]);
    expect(faultsOf(right)).toEqual([]);
  });

  it('do not blame a contradiction on a value that could not be read', () => {
    expect(faultsOf({ COORD_HEARTBEAT_INTERVAL_MS: 'x' })).toHaveLength(1);
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org'])(
    'refuse HOST=%s without AUTH=disabled, and warn aloud with it',
    (host) => {
      expect(faultsOf({ HOST: host })).toEqual([expect.stringContaining('AUTH=disabled')]);
      expect(optionsOf({ HOST: host, AUTH: 'disabled' }).warnings).toEqual([
        expect.stringContaining('AUTH=disabled'),
      ]);
    },
  );

  it.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])('accept loopback %s without a word', (host) => {
    expect(optionsOf({ HOST: host }).warnings).toEqual([]);
  });

  it('warn of a misspelt option', () => {
    expect(optionsOf({ COORD_LEASE_MS: '1' }).warnings).toEqual([expect.stringContaining('COORD_LEASE_MS')]);
  });

  it.each(['REDIS_CLUSTER_NODES', 'REDIS_SENTINELS'])('refuse %s, which comes later', (variable) => {
    expect(faultsOf({ [variable]: 'a:1' })).toEqual([expect.stringContaining('not supported yet')]);
  });
});

describe('REDIS_URL', () => {
  it('is refused with an explanation when the password holds a reserved character, and is not shown', () => {
    const [fault] = faultsOf({ REDIS_URL: 'redis://user:geh@eim#1@localhost:6379' });
    expect(fault).toContain('percent-encode');
    expect(fault).not.toContain('geh');
  });

  it('is accepted when the password is encoded', () => {
    expect(faultsOf({ REDIS_URL: 'redis://user:geh%40eim%231@localhost:6379' })).toEqual([]);
  });
});

describe('what follows from the options', () => {
  it('keeps a section, and three commands, below the TTL of the lock', () => {
    for (const lockTtlMs of [500, 5000, 300_000]) {
      const { limits } = optionsOf({ COORD_LOCK_TTL_MS: String(lockTtlMs) }).options;
      expect(limits.sectionBudgetMs).toBeLessThan(lockTtlMs);
      expect(3 * limits.redisCommandTimeoutMs).toBeLessThanOrEqual(limits.sectionBudgetMs);
    }
  });
});

describe('the configuration table', () => {
  it('has a row with meaning, unit, default and bounds for every option', () => {
    const rows = renderConfigurationTable().trimEnd().split('\n').slice(2);
    expect(rows).toHaveLength(Object.keys(OPTIONS).length);
    for (const row of rows) expect(row.split(' | ').filter((cell) => cell.trim() === '')).toEqual([]);
    expect(rows.join('\n')).toContain('| `COORD_LOCK_TTL_MS` |');
  });
});
