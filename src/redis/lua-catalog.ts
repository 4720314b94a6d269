import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Arguments a script takes: exactly so many, or at least so many and then any number. */
export interface LuaArity {
  readonly keys: number;
  readonly args: number | { readonly atLeast: number };
}

/** Every script of the package, by its path below lua/. The headers of the files say what each key and argument is. */
export const LUA_SCRIPTS = {
  'section/lock-and-load': { keys: 2, args: 7 },
  'section/load': { keys: 1, args: 5 },
  'section/commit-and-unlock': { keys: 2, args: { atLeast: 17 } },
  'section/unlock': { keys: 1, args: 1 },
  'lease/renew-leases': { keys: 1, args: { atLeast: 6 } },
  'loop/pass': { keys: 2, args: 6 },
  'loop/postpone': { keys: 1, args: 3 },
  'group/save-stream-record': { keys: 1, args: 4 },
} as const satisfies Readonly<Record<string, LuaArity>>;
export type LuaScriptName = keyof typeof LUA_SCRIPTS;

export interface LuaScript {
  readonly name: LuaScriptName;
  readonly text: string;
  readonly sha1: string;
  readonly arity: LuaArity;
}
export type LuaCatalog = ReadonlyMap<LuaScriptName, LuaScript>;

/** The scripts that the package needs are not all there, or are of another version. */
export class LuaCatalogError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`the Lua scripts of this package cannot be used: ${faults.join('; ')}`);
    this.name = 'LuaCatalogError';
  }
}

/** lua/ beside src/ and dist/: the same place for both. */
const LUA_FOLDER = join(__dirname, '..', '..', 'lua');

/**
 * Reads every script and compares its header with what the code will pass.
 * @throws LuaCatalogError with all faults at once.
 */
export function readLuaCatalog(folder: string = LUA_FOLDER): LuaCatalog {
  const catalog = new Map<LuaScriptName, LuaScript>();
  const faults: string[] = [];
  for (const name of Object.keys(LUA_SCRIPTS) as LuaScriptName[]) {
    const arity: LuaArity = LUA_SCRIPTS[name];
    const text = readScript(join(folder, `${name}.lua`));
    if (text === null) faults.push(`${name}.lua is missing`);
    else if (!isSameArity(arityOfHeader(text), arity)) {
      faults.push(`${name}.lua takes other keys or arguments than the code passes`);
    } else {
      const sha1 = createHash('sha1').update(text).digest('hex');
      catalog.set(name, { name, text, sha1, arity });
    }
  }
  if (faults.length > 0) throw new LuaCatalogError(faults);
  return catalog;
}

function readScript(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

const HEADER_LINE = /^-- (KEYS|ARGV)\[([0-9]+)(\.\.\.)?\]/;

/** What the numbered lines of a script's header declare. */
export function arityOfHeader(text: string): LuaArity {
  const declared = { KEYS: 0, ARGV: 0 };
  let isOpen = false;
  for (const line of text.split('\n')) {
    const [, kind, , open] = HEADER_LINE.exec(line) ?? [];
    if (open !== undefined) isOpen = true;
    else if (kind === 'KEYS' || kind === 'ARGV') declared[kind] += 1;
  }
  return { keys: declared.KEYS, args: isOpen ? { atLeast: declared.ARGV } : declared.ARGV };
}

function isSameArity(one: LuaArity, other: LuaArity): boolean {
  return one.keys === other.keys && JSON.stringify(one.args) === JSON.stringify(other.args);
}
