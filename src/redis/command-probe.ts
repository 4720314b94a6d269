import type { RedisCommandLine, RedisCommands } from './redis-commands';

/** Of its own hash slot and of no group. Everything that the probe writes lies here and is deleted again. */
const PROBE_KEY_SUFFIX = '{probe}';

/**
 * Which commands the coordinator needs and may not use (Redis ACL). Each is sent once in a form that does no harm: a command
 * that is not permitted is refused before Redis looks at anything else.
 */
export class CommandProbe {
  constructor(
    private readonly commands: RedisCommands,
    private readonly keyPrefix: string,
  ) {}

  /** @returns names of the missing commands, sorted; empty when all are permitted. @throws RedisFaultError */
  async missingCommands(): Promise<readonly string[]> {
    const lines = probeLines(this.keyPrefix);
    const replies = await this.commands.pipeline('probe commands', lines);
    const missing = new Set<string>();
    for (const [index, reply] of replies.entries()) {
      if (!('error' in reply)) continue;
      const name = nameOf(lines[index]);
      if (reply.error.fault === 'NOT_PERMITTED') missing.add(name);
      else if (reply.error.fault !== 'UNEXPECTED') throw reply.error; // whether it is permitted was not answered
    }
    return [...missing].sort();
  }
}

function nameOf(line: RedisCommandLine | undefined): string {
  const [command, subcommand] = line ?? [''];
  return command === 'XGROUP' ? `XGROUP ${String(subcommand)}` : command;
}

function probeLines(keyPrefix: string): readonly RedisCommandLine[] {
  const hash = `${keyPrefix}:${PROBE_KEY_SUFFIX}:hash`;
  const zset = `${keyPrefix}:${PROBE_KEY_SUFFIX}:zset`;
  const text = `${keyPrefix}:${PROBE_KEY_SUFFIX}:text`;
  const stream = `${keyPrefix}:${PROBE_KEY_SUFFIX}:stream`;
  return [
    ['PING'],
    ['TIME'],
    ['INFO', 'replication'],
    ['EXISTS', text],
    ['SET', text, 'probe', 'PX', 1_000],
    ['GET', text],
    ['PTTL', text],
    ['HSET', hash, 'field', 'value'],
    ['HGET', hash, 'field'],
    ['HMGET', hash, 'field'],
    ['HGETALL', hash],
    ['HKEYS', hash],
    ['HSTRLEN', hash, 'field'],
    ['HDEL', hash, 'field'],
    ['ZADD', zset, 0, 'member'],
    ['ZSCORE', zset, 'member'],
    ['ZRANGE', zset, 0, 0],
    ['ZRANGEBYSCORE', zset, '-inf', 0],
    ['ZREM', zset, 'member'],
    ['XGROUP', 'CREATE', stream, 'group', '0'], // refused by Redis: there is no such stream
    ['XINFO', 'GROUPS', stream], // refused likewise
    ['XRANGE', stream, '-', '+', 'COUNT', 1],
    ['SCAN', 0, 'MATCH', text, 'COUNT', 1],
    ['PUBLISH', `${keyPrefix}:notices`, ''],
    ['EVAL', 'return 1', 0],
    ['EVALSHA', '0'.repeat(40), 0], // refused by Redis: there is no such script
    ['DEL', hash, zset, text],
  ];
}
