import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { COORDINATOR_OPTIONS, type CoordinatorOptions } from '../config/coordinator-options';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
export const HEARTBEAT_ROUTE = /\/heartbeat$/;

/**
 * One line and one measurement per answered request. Mutations are logged at info, all else (heartbeats, reads) at debug:
 * there are thousands of them a second, and an outage must not turn each into a line. Never a body, never a query.
 */
@Injectable()
export class AccessLog implements OnModuleInit {
  private readonly logger = new Logger('Access');
  private readonly logsReads: boolean;

  constructor(
    @Inject(COORDINATOR_OPTIONS) options: CoordinatorOptions,
    private readonly host: HttpAdapterHost,
    private readonly metrics: CoordinatorMetrics,
  ) {
    this.logsReads = options.logLevel === 'debug' || options.logLevel === 'trace';
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onResponse', (request, reply, done) => {
      this.record(request, reply);
      done();
    });
  }

  private record(request: FastifyRequest, reply: FastifyReply): void {
    const { is404, method } = request;
    const route = is404 ? '(none)' : (request.routeOptions.url ?? '(none)');
    const durationMs = reply.elapsedTime;
    this.metrics.requestAnswered(method, route, reply.statusCode, durationMs);
    const isMutation = !READING_METHODS.has(method) && !HEARTBEAT_ROUTE.test(route) && !is404;
    if (!isMutation && !this.logsReads) return;
    const line = {
      message: 'answered',
      requestId: request.id,
      method,
      route,
      params: shownParams(request.params),
      httpStatus: reply.statusCode,
      durationMs: Math.round(durationMs * 10) / 10,
    };
    if (isMutation) this.logger.log(line);
    else this.logger.debug(line);
  }
}

const SHOWN_CHARACTERS = 200;

/** Names of the route; refused ones may be of any length. */
function shownParams(params: unknown): Record<string, string> {
  const entries = Object.entries((params ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value).slice(0, SHOWN_CHARACTERS)]));
}
