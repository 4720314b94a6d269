import type { Redis } from 'ioredis';
import { UnsupportedRedisError } from '../errors';
import { redisFaultOf } from './redis-faults';

/** XPENDING with exclusive ids. */
const MIN_REDIS_VERSION = [6, 2] as const;

/** A group that does not exist: the commands are permitted or not before it is looked for, so that nothing is changed. */
const PROBE_GROUP = 'redis-stream-client-probe';
const UNKNOWN_SHA = '0'.repeat(40);

export interface ProbedKeys {
  readonly streamKey: string;
  readonly deadLetterKey: string;
}

type Probe = readonly [name: string, ...parts: (string | number)[]];

function consumerProbes({ streamKey, deadLetterKey }: ProbedKeys): Probe[] {
  return [
    ['XREADGROUP', 'GROUP', PROBE_GROUP, 'probe', 'COUNT', 1, 'STREAMS', streamKey, '>'],
    ['XACK', streamKey, PROBE_GROUP, '0-1'],
    ['XPENDING', streamKey, PROBE_GROUP],
    ['XCLAIM', streamKey, PROBE_GROUP, 'probe', 0, '0-1'],
    ['XRANGE', streamKey, '0-1', '0-1', 'COUNT', 1],
    ['XINFO', 'CONSUMERS', streamKey, PROBE_GROUP],
    ['XGROUP', 'DELCONSUMER', streamKey, PROBE_GROUP, 'probe'],
    ['XADD', deadLetterKey, '0-0', 'probe', ''], // an id that no stream takes
    ['EVALSHA', UNKNOWN_SHA, 0],
    ['EVAL', '', 0],
    ['CLIENT', 'ID'],
    ['CLIENT', 'UNBLOCK', 0],
  ];
}

/**
 * Whether this Redis and this user can serve a consumer: version, mode, and every command that it will need, tried without
 * effect. Throws UnsupportedRedisError that names all that is missing; errors of the connection pass through.
 */
export async function probeForConsumer(client: Redis, keys: ProbedKeys): Promise<void> {
  const missing = [
    ...(await serverFaults(client)),
    ...(await forbiddenCommands(client, consumerProbes(keys))),
  ];
  if (missing.length > 0) throw new UnsupportedRedisError(missing);
}

/** The same for a publisher, which only appends. An id that no stream takes, and no stream is made: nothing is written. */
export async function probeForPublisher(client: Redis, streamKey: string): Promise<void> {
  const probe: Probe = ['XADD', streamKey, 'NOMKSTREAM', '0-0', 'probe', ''];
  const missing = [...(await serverFaults(client)), ...(await forbiddenCommands(client, [probe]))];
  if (missing.length > 0) throw new UnsupportedRedisError(missing);
}

async function serverFaults(client: Redis): Promise<string[]> {
  let info: string;
  try {
    info = await client.info('server');
  } catch (error) {
    if (redisFaultOf(error) === 'NOPERM') return []; // a user without INFO: nothing that we use depends on more
    throw error;
  }
  const faults: string[] = [];
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info);
  if (version !== null && isBelow([Number(version[1]), Number(version[2])], MIN_REDIS_VERSION)) {
    faults.push(
      `version ${version[1]}.${version[2]}, and ${MIN_REDIS_VERSION.join('.')} is the oldest supported`,
    );
  }
  if (/^redis_mode:cluster/m.test(info)) {
    faults.push('it runs in cluster mode, and this client is configured for standalone');
  }
  return faults;
}

function isBelow(version: readonly [number, number], least: readonly [number, number]): boolean {
  return version[0] < least[0] || (version[0] === least[0] && version[1] < least[1]);
}

async function forbiddenCommands(client: Redis, probes: readonly Probe[]): Promise<string[]> {
  const outcomes = await Promise.all(probes.map(async (probe) => forbidden(client, probe)));
  return [...new Set(outcomes.filter((outcome) => outcome !== null))];
}

async function forbidden(client: Redis, [name, ...parts]: Probe): Promise<string | null> {
  try {
    await client.call(name, ...parts);
    return null;
  } catch (error) {
    switch (redisFaultOf(error)) {
      case 'NOPERM':
        return describeRefusal(name, parts, error);
      case 'CONNECTION':
      case 'TIMEOUT':
      case 'NOAUTH':
      case 'LOADING':
        throw error;
      default:
        return null; // permitted: Redis looked at it and found no such group, key or script
    }
  }
}

function describeRefusal(name: string, parts: readonly (string | number)[], error: unknown): string {
  const command =
    name === 'CLIENT' || name === 'XINFO' || name === 'XGROUP' ? `${name} ${String(parts[0])}` : name;
  const isAboutKeys = error instanceof Error && /\bkeys?\b/.test(error.message);
  return isAboutKeys
    ? `the user may not run ${command} on the keys ${parts.filter((part) => /:/.test(String(part))).join(', ')}`
    : `the user may not run ${command}`;
}
