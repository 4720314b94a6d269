import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { redisFaultOf } from './redis-faults';

/** The scripts of the SDK, in lua/client, with the number of their keys. */
export const CLIENT_SCRIPTS = {
  'move-to-dead-letter': { keyCount: 2, argumentCount: 6 },
  'remove-consumer': { keyCount: 1, argumentCount: 2 },
} as const;
export type ClientScriptName = keyof typeof CLIENT_SCRIPTS;

/** The same depth below the package from src and from dist. */
const SCRIPT_FOLDER = join(__dirname, '..', '..', '..', 'lua', 'client');

interface LoadedScript {
  readonly text: string;
  readonly sha: string;
}

const loaded = new Map<ClientScriptName, LoadedScript>();

function load(name: ClientScriptName): LoadedScript {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(join(SCRIPT_FOLDER, `${name}.lua`), 'utf8');
  const script = { text, sha: createHash('sha1').update(text).digest('hex') };
  loaded.set(name, script);
  return script;
}

/** EVALSHA; EVAL, which also caches the script, when Redis does not know it (restart, SCRIPT FLUSH). */
export async function runClientScript(
  client: Redis,
  name: ClientScriptName,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> {
  const { text, sha } = load(name);
  const { keyCount } = CLIENT_SCRIPTS[name];
  try {
    return await client.evalsha(sha, keyCount, ...keys, ...values);
  } catch (error) {
    if (redisFaultOf(error) !== 'NOSCRIPT') throw error;
    return client.eval(text, keyCount, ...keys, ...values);
  }
}
