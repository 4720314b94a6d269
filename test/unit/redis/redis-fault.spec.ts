import { describe, expect, it } from '@jest/globals';
import { retryDelayMs, retryStrategy } from '../../../src/redis/client-options';
import { FaultLog } from '../../../src/redis/fault-log';
import { faultOf, RedisFaultError } from '../../../src/redis/redis-fault';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

describe('the faults of Redis', () => {
  it.each([
    [
      "OOM command not allowed when used memory > 'maxmemory'. script: ab, on @user_script:1.",
      'OUT_OF_MEMORY',
      true,
    ],
    [
      'ERR Error running script (call to f_ab): @user_script:1: -OOM command not allowed',
      'OUT_OF_MEMORY',
      true,
    ],
    ["READONLY You can't write against a read only replica.", 'READ_ONLY', true],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'READ_ONLY', true],
    ['NOREPLICAS Not enough good replicas to write.', 'READ_ONLY', true],
    ['MISCONF Redis is configured to save RDB snapshots, but', 'READ_ONLY', true],
    ['LOADING Redis is loading the dataset in memory', 'LOADING', true],
    ['BUSY Redis is busy running a script.', 'TIMEOUT', true],
    ['NOAUTH Authentication required.', 'NOT_AUTHENTICATED', false],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'NOT_AUTHENTICATED', false],
    ['ERR invalid password', 'NOT_AUTHENTICATED', false],
    ["NOPERM User default has no permissions to run the 'eval' command", 'NOT_PERMITTED', false],
    ["ERR The user executing the script can't run this command or subcommand", 'NOT_PERMITTED', false],
    ['MOVED 3999 127.0.0.1:6381', 'CLUSTER_REDIRECT', false],
    ['ASK 3999 127.0.0.1:6381', 'CLUSTER_REDIRECT', false],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'CLUSTER_REDIRECT', false],
    ['CLUSTERDOWN The cluster is down', 'CLUSTER_REDIRECT', true],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'CLUSTER_REDIRECT', true],
    ['ERR max number of clients reached', 'CONNECTION', true],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'UNEXPECTED', false],
  ])('read the answer "%s" as %s', (message, fault, retryable) => {
    expect(faultOf(reply(message))).toEqual({ fault, retryable });
  });

  it.each([
    [new Error('Command timed out'), 'TIMEOUT'],
    [new Error("Socket timeout. Expecting data, but didn't receive any in 600ms."), 'TIMEOUT'],
    [new Error('Connection is closed.'), 'CONNECTION'],
    [new Error("Stream isn't writeable and enableOfflineQueue options is false"), 'CONNECTION'],
    [new Error('Reached the max retries per request limit (which is 0).'), 'CONNECTION'],
    [new Error('Command aborted due to connection close'), 'CONNECTION'],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'CONNECTION'],
    [{ message: 'read ECONNRESET', code: 'ECONNRESET' }, 'CONNECTION'], // of another realm
  ])('read the failure %s of the driver as %s', (error, fault) => {
    expect(faultOf(error)).toEqual({ fault, retryable: true });
  });

  it('take what nobody knows for unexpected, and not worth a retry', () => {
    for (const error of [new Error('what?'), reply('ERR syntax error'), 'text', null, undefined, 7]) {
      expect(faultOf(error)).toEqual({ fault: 'UNEXPECTED', retryable: false });
    }
  });

  it('are logged at most once per kind and 10 s, with the number of those left out', () => {
    const lines: object[] = [];
    let nowMs = 0;
    const log = new FaultLog({ warn: (fields) => lines.push(fields) }, () => nowMs);
    const full = new RedisFaultError('commit', 'OUT_OF_MEMORY', true, {
      cause: reply('OOM command not allowed'),
    });
    for (nowMs = 0; nowMs < 10_000; nowMs += 100) {
      log.report('commit', full);
      log.report('load', new Error('Command timed out'));
    }
    expect(lines).toEqual([
      { fault: 'OUT_OF_MEMORY', operation: 'commit', reason: 'OOM command not allowed', leftOut: 0 },
      { fault: 'TIMEOUT', operation: 'load', reason: 'Command timed out', leftOut: 0 },
    ]);
    nowMs = 10_000;
    log.report('unlock', full);
    expect(lines[2]).toMatchObject({ operation: 'unlock', leftOut: 99 });
  });

  it('are followed by retries that slow down to one a second, for ever', () => {
    expect([1, 2, 3, 4, 5, 6, 1_000].map(retryDelayMs)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
    let nowMs = 0;
    const nextDelayMs = retryStrategy(() => nowMs);
    expect([nextDelayMs(), nextDelayMs(), nextDelayMs()]).toEqual([50, 100, 200]);
    nowMs += 5_001; // a connection that lived
    expect([nextDelayMs(), nextDelayMs()]).toEqual([50, 100]);
  });
});
