import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly metrics: CoordinatorMetrics,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onResponse', (request, reply, done) => {
      this.record(request, reply);
      done();
    });
  }

  private record(request: FastifyRequest, reply: FastifyReply): void {
    const route = request.is404 ? '(none)' : (request.routeOptions.url ?? '(none)');
    this.metrics.requestAnswered(request.method, route, reply.statusCode, reply.elapsedTime);
    const line = {
      message: 'answered',
      requestId: request.id,
      method: request.method,
      route,
      params: shownParams(request.params),
      httpStatus: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
    };
    const isMutation = !READING_METHODS.has(request.method) && !HEARTBEAT_ROUTE.test(route) && !request.is404;
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
