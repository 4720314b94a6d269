import { accepted, refused, type Result } from '../domain/result';
import type { CoordinatorOptions } from './coordinator-options';
import { deriveLimits } from './derived-limits';
import type { OptionSpec } from './option-kinds';
import { brokenRules, type OptionValues, warningsOf } from './option-rules';
import { COMING_LATER, OPTIONS } from './options';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReadOptions {
  readonly options: CoordinatorOptions;
  /** Allowed, but rarely meant: to be logged once. */
  readonly warnings: readonly string[];
}

/** Reads and checks all options. Every fault is reported at once, none is corrected in silence; no secret is in a fault. */
export function readOptions(environment: Environment): Result<ReadOptions, readonly string[]> {
  const values: Partial<Record<string, unknown>> = {};
  const faulty = new Set<string>();
  const faults: string[] = [];
  for (const [name, spec] of Object.entries(OPTIONS) as [string, OptionSpec<unknown>][]) {
    const text = environment[spec.variable];
    const reading = text === undefined ? { value: spec.defaultValue } : spec.read(text);
    if ('fault' in reading) {
      faults.push(`${spec.variable} ${reading.fault}`);
      faulty.add(name);
    } else {
      values[name] = reading.value;
    }
  }
  for (const [variable, explanation] of COMING_LATER) {
    if (environment[variable] !== undefined) faults.push(`${variable}: ${explanation}`);
  }
  const checked = values as OptionValues;
  faults.push(...brokenRules(checked, faulty));
  if (faults.length > 0) return refused(faults);
  const warnings = [...warningsOf(checked), ...unknownVariables(environment)];
  return accepted({ options: assemble(checked), warnings });
}

/** A misspelt option would otherwise be ignored without a word. */
function unknownVariables(environment: Environment): string[] {
  const known = new Set<string>(Object.values(OPTIONS).map((spec) => spec.variable));
  return Object.keys(environment)
    .filter((variable) => variable.startsWith('COORD_') && !known.has(variable))
    .map((variable) => `${variable} is set, but there is no such option`);
}

function assemble(values: OptionValues): CoordinatorOptions {
  const timing = Object.freeze({
    heartbeatIntervalMs: values.heartbeatIntervalMs,
    memberLeaseTtlMs: values.memberLeaseTtlMs,
    rebalanceTimeoutMs: values.rebalanceTimeoutMs,
    tickIntervalMs: values.tickIntervalMs,
    routingRefreshMs: values.routingRefreshMs,
    routingLeaseMs: values.routingLeaseMs,
    lockTtlMs: values.lockTtlMs,
    memberRetentionMs: values.memberRetentionMs,
  });
  return Object.freeze({
    host: values.host,
    port: values.port,
    redisUrl: values.redisUrl,
    coordinatorId: values.coordinatorId,
    keyPrefix: values.keyPrefix,
    timing,
    defaultShardCount: values.defaultShardCount,
    maxShardCount: values.maxShardCount,
    maxMembers: values.maxMembers,
    shutdownGraceMs: values.shutdownGraceMs,
    logLevel: values.logLevel,
    authentication: values.authentication,
    limits: Object.freeze(deriveLimits(values)),
  });
}
