import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisServer, type RedisServer } from '../support/redis-server';

describe('the Redis of the tests', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer({ appendOnly: true, password: 'p@ss:w/rd"' });
  });
  afterAll(async () => server.stop());

  it('answers commands with its password', async () => {
    expect(await server.cli('SET', 'key', 'value')).toBe('OK');
    expect(await server.cli('GET', 'key')).toBe('value');
  });

  it('keeps its data over a kill and a restart with the append-only file', async () => {
    await server.kill();
    await server.restart();
    expect(await server.cli('GET', 'key')).toBe('value');
  });

  it('goes on after a freeze', async () => {
    server.freeze();
    const answer = server.cli('GET', 'key');
    server.thaw();
    expect(await answer).toBe('value');
  });

  it('is empty after a restart that wipes', async () => {
    await server.restart({ kill: true, wipe: true });
    expect(await server.cli('DBSIZE')).toBe(0);
  });

  it('takes an ACL file', async () => {
    const limited = await startRedisServer({
      acl: ['user default off', 'user admin on >secret ~* &* +@all', 'user app on >x ~* &* +@all -eval'],
      adminUser: { username: 'admin', password: 'secret' },
    });
    try {
      expect(await limited.cli('ACL', 'WHOAMI')).toBe('admin');
    } finally {
      await limited.stop();
    }
  });
});
