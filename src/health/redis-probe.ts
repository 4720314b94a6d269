import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import { RedisConnections } from '../redis/redis-connections';
import { RedisFaultError } from '../redis/redis-fault';

/** A probe key outlives a coordinator that never comes back by this much. */
const PROBE_KEY_TTL_MS = 60_000;

export type ProbeOutcome = { readonly isReady: true } | { readonly isReady: false; readonly fault: string };

/**
 * Whether Redis takes a write and gives it back: PING answers PONG also when Redis is full or a replica. Ends within its
 * deadline whatever Redis does. Probes that are asked for at once share one.
 */
@Injectable()
export class RedisProbe {
  private readonly key: string;
  private running: Promise<ProbeOutcome> | null = null;

  constructor(
    @Inject(COORDINATOR_OPTIONS) private readonly options: CoordinatorOptions,
    private readonly connections: RedisConnections,
    private readonly metrics: CoordinatorMetrics,
  ) {
    this.key = `${options.keyPrefix}:probe:${options.coordinatorId}`;
  }

  probe(): Promise<ProbeOutcome> {
    this.running ??= this.withDeadline().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private async withDeadline(): Promise<ProbeOutcome> {
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<ProbeOutcome>((resolve) => {
      const late: ProbeOutcome = { isReady: false, fault: 'TIMEOUT' };
      timer = setTimeout(() => resolve(late), this.options.limits.readinessProbeTimeoutMs);
    });
    const outcome = await Promise.race([this.writeAndRead(), deadline]);
    clearTimeout(timer);
    this.metrics.ready(outcome.isReady);
    return outcome;
  }

  private async writeAndRead(): Promise<ProbeOutcome> {
    const { commands } = this.connections;
    const value = randomUUID();
    try {
      await commands.call('readiness probe', 'SET', this.key, value, 'PX', PROBE_KEY_TTL_MS);
      const read = await commands.call('readiness probe', 'GET', this.key);
      return read === value ? { isReady: true } : { isReady: false, fault: 'UNEXPECTED' };
    } catch (error) {
      return { isReady: false, fault: error instanceof RedisFaultError ? error.fault : 'UNEXPECTED' };
    }
  }
}
