// Finds a Redis server binary, or installs Debian's when it may. Prints its path.
//
// Order: REDIS_SERVER_BIN; redis-server, then valkey-server, on the PATH; Debian's redis-server package when this
// process is root and apt-get exists; otherwise an error that says what to do. Plain Node, no dependencies: it runs
// before anything is installed.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BINARIES = ['redis-server', 'valkey-server'];
const POLICY_FILE = '/usr/sbin/policy-rc.d';
const APT_LOCK_WAIT_SECONDS = 180;
const APT_DEADLINE_MS = 300_000;

const INSTRUCTION = `No Redis server was found. Do one of these and run the command again:
  - install Redis 7 or Valkey 8 so that redis-server or valkey-server is on the PATH
    (Debian, Ubuntu: sudo apt-get install redis-server; macOS: brew install redis);
  - set REDIS_SERVER_BIN to the path of a server binary.`;

export class RedisServerMissingError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = 'RedisServerMissingError';
  }
}

/**
 * The path of a Redis (or Valkey) server binary, installing Debian's package if that is the only way.
 * What the installation prints goes to stderr. Throws RedisServerMissingError with an instruction.
 */
export function ensureRedisServer(environment = process.env) {
  const named = environment.REDIS_SERVER_BIN;
  if (named) {
    if (!isExecutable(named)) {
      throw new RedisServerMissingError(`REDIS_SERVER_BIN is ${named}, which is not an executable file.`);
    }
    return named;
  }
  return findOnPath(environment) ?? installFromDebian(environment);
}

function findOnPath(environment) {
  for (const binary of BINARIES) {
    for (const folder of (environment.PATH ?? '').split(delimiter)) {
      const candidate = join(folder, binary);
      if (folder !== '' && isExecutable(candidate)) {
        return candidate;
      }
    }
  }
  return undefined;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function installFromDebian(environment) {
  const mayInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (!mayInstall) {
    throw new RedisServerMissingError(INSTRUCTION);
  }
  console.error('Installing the redis-server package (its service is not started).');
  const installed = withoutServiceStart(() => {
    apt(['update'], environment); // an old package list may still do: only the installation decides
    return apt(['install', '-y', '--no-install-recommends', 'redis-server'], environment);
  });
  const found = findOnPath({ PATH: `${environment.PATH ?? ''}${delimiter}/usr/bin` });
  if (!installed || found === undefined) {
    throw new RedisServerMissingError(`apt-get could not install redis-server.\n${INSTRUCTION}`);
  }
  return found;
}

/** Debian asks policy-rc.d before it starts a service; 101 says no. An existing policy is left as it is. */
function withoutServiceStart(action) {
  const ours = !existsSync(POLICY_FILE);
  if (ours) {
    writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  }
  try {
    return action();
  } finally {
    if (ours) {
      rmSync(POLICY_FILE, { force: true });
    }
  }
}

function apt(aptArguments, environment) {
  const options = ['-q', '-o', `DPkg::Lock::Timeout=${APT_LOCK_WAIT_SECONDS}`];
  const result = spawnSync('/usr/bin/apt-get', [...options, ...aptArguments], {
    stdio: ['ignore', 2, 2],
    timeout: APT_DEADLINE_MS,
    env: { ...environment, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
  return result.status === 0;
}

const isEntryPoint =
  process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isEntryPoint) {
  try {
    console.log(ensureRedisServer());
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
