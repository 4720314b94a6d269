import { redisAccess, type RedisAccess } from '../contract/redis-harness';
import {
  startRedisServer,
  waitUntil,
  type RedisServer,
  type RedisServerOptions,
} from '../support/redis-server';

/** Back without a restart of the process. */
export const RECOVERY_MS = 5_000;

/** What one test started and connected to; all of it ends with `clear`. */
export class RedisStage {
  private readonly servers: RedisServer[] = [];
  private readonly open: RedisAccess[] = [];

  async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const server = await startRedisServer(options);
    this.servers.push(server);
    return server;
  }

  /** A replica that has caught up. */
  async replicaOf({ port }: RedisServer): Promise<RedisServer> {
    const replica = await this.start({ replicaOf: { port } });
    await waitUntil('replicating', RECOVERY_MS, async () =>
      String(await replica.cli('INFO', 'replication')).includes('master_link_status:up'),
    );
    return replica;
  }

  async access(...args: Parameters<typeof redisAccess>): Promise<RedisAccess> {
    const access = await redisAccess(...args);
    this.open.push(access);
    return access;
  }

  async clear(): Promise<void> {
    for (const access of this.open.splice(0)) access.close();
    for (const server of this.servers.splice(0)) await server.stop();
  }
}

/** Polls until the call no longer fails. */
export async function recovers(call: () => Promise<unknown>): Promise<void> {
  await waitUntil('recovered', RECOVERY_MS, async () =>
    call().then(
      () => true,
      () => false,
    ),
  );
}
