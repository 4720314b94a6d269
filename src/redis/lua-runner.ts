import { assertInvariant } from '../domain/assert';
import type { LuaCatalog, LuaScript, LuaScriptName } from './lua-catalog';
import type { RedisArgument, RedisCommands } from './redis-commands';
import { isReply, messageOf, RedisFaultError } from './redis-fault';

const NO_SCRIPT = /^NOSCRIPT/;

/** Runs the scripts of the catalog by their digest. A script that Redis has lost (restart, SCRIPT FLUSH) is sent again. */
export class LuaRunner {
  constructor(
    private readonly commands: RedisCommands,
    private readonly catalog: LuaCatalog,
  ) {}

  /** @throws RedisFaultError */
  async run(name: LuaScriptName, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    const script = this.catalog.get(name);
    assertInvariant(script !== undefined, `script ${name} is in the catalog`);
    assertArity(script, keys, args);
    try {
      return await this.commands.call(name, 'EVALSHA', script.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isScriptMissing(error)) throw error;
      return this.commands.call(name, 'EVAL', script.text, keys.length, ...keys, ...args);
    }
  }
}

function assertArity(script: LuaScript, keys: readonly string[], args: readonly RedisArgument[]): void {
  const { arity, name } = script;
  const isArgsRight =
    typeof arity.args === 'number' ? args.length === arity.args : args.length >= arity.args.atLeast;
  assertInvariant(
    keys.length === arity.keys && isArgsRight,
    `script ${name} was called with ${keys.length} keys and ${args.length} arguments`,
  );
}

function isScriptMissing(error: unknown): boolean {
  return error instanceof RedisFaultError && isReply(error.cause) && NO_SCRIPT.test(messageOf(error.cause));
}
