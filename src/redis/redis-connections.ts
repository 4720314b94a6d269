import { RedisService } from '@liaoliaots/nestjs-redis';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { COMMANDS_CLIENT, NOTICES_CLIENT } from './client-options';
import { FaultLog } from './fault-log';
import { readLuaCatalog } from './lua-catalog';
import { LuaRunner } from './lua-runner';
import { NoticeSubscriber } from './notice-subscriber';
import { RedisCommands } from './redis-commands';
import { RedisIdentity } from './redis-identity';
import { RedisFaultError } from './redis-fault';
import { REDIS_OPTIONS, type RedisOptions } from './redis-options';

/** Whatever Redis does: the end of the process does not wait longer for it. */
const CLOSE_DEADLINE_MS = 500;

/**
 * The connections of this process and what is built on them. A start without Redis is no error: readiness says so, and the
 * connections are tried on.
 */
@Injectable()
export class RedisConnections implements OnModuleInit, OnApplicationShutdown {
  readonly faultLog: FaultLog;
  readonly commands: RedisCommands;
  readonly lua: LuaRunner;
  /** Of the Redis that the commands go to. */
  readonly identity: RedisIdentity;
  readonly notices: NoticeSubscriber;
  private readonly commandsClient: Redis;
  private readonly noticesClient: Redis;

  /** @throws LuaCatalogError when the package's scripts are not there. */
  constructor(
    service: RedisService,
    @Inject(REDIS_OPTIONS) private readonly options: RedisOptions,
  ) {
    this.commandsClient = service.getOrThrow(COMMANDS_CLIENT);
    this.noticesClient = service.getOrThrow(NOTICES_CLIENT);
    for (const client of [this.commandsClient, this.noticesClient])
      nameConnections(client, options.clientName);
    this.faultLog = new FaultLog(options.logger);
    this.commands = new RedisCommands(this.commandsClient, this.faultLog);
    this.identity = new RedisIdentity(this.commandsClient, this.commands);
    this.lua = new LuaRunner(this.commands, readLuaCatalog());
    this.notices = new NoticeSubscriber(this.noticesClient, this.faultLog);
  }

  get isConnected(): boolean {
    return this.commandsClient.status === 'ready';
  }

  /** Waits for the first connection, at most the connect timeout. @throws RedisFaultError when it leads to a cluster. */
  async onModuleInit(): Promise<void> {
    const deadlineMs = this.options.connectTimeoutMs;
    await Promise.all(
      [this.commandsClient, this.noticesClient].map((client) => firstReady(client, deadlineMs)),
    );
    await this.refuseCluster();
  }

  /** Whatever else is wrong with Redis may pass, and is said by readiness. */
  private async refuseCluster(): Promise<void> {
    if (!this.isConnected) return;
    try {
      await this.identity.read();
    } catch (error) {
      if (error instanceof RedisFaultError && error.fault === 'CLUSTER_REDIRECT') throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.notices.close();
    await Promise.all([this.commandsClient, this.noticesClient].map(closeClient));
  }
}

/** As CLIENT LIST shows them. Each new connection is named again, before it subscribes; without permission it stays nameless. */
function nameConnections(client: Redis, name: string): void {
  const nameIt = (): void => {
    client.client('SETNAME', name).catch(() => undefined);
  };
  client.on('ready', nameIt);
  if (client.status === 'ready') nameIt();
}

async function firstReady(client: Redis, deadlineMs: number): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(finish, deadlineMs);
    client.once('ready', finish);
    function finish(): void {
      clearTimeout(timer);
      client.off('ready', finish);
      resolve();
    }
  });
}

/** Lets what was sent be answered, for a moment; then the connection is dropped. */
async function closeClient(client: Redis): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_DEADLINE_MS);
  });
  const quit = client.quit().then(
    () => undefined,
    () => undefined, // no connection: nothing to say goodbye to
  );
  await Promise.race([quit, deadline]);
  clearTimeout(timer);
  client.disconnect();
}
