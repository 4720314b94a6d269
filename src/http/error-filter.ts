import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CoordinatorMetrics } from '../metrics/coordinator-metrics';
import { ApiError, invalidRequest } from './api-error';
import { errorAnswerOf } from './error-body';
import { HEARTBEAT_ROUTE } from './access-log';
import { FaultLog } from './fault-log';

/** Answers every error of a request in the shape of the contract, and logs what is our fault or that of Redis. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly faultLog: FaultLog,
    private readonly metrics: CoordinatorMetrics,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const { httpStatus, body, retryAfterSeconds } = errorAnswerOf(request.is404 ? notFound(request) : error);
    if (httpStatus >= 500) this.log(error, body.errorCode, request);
    if (HEARTBEAT_ROUTE.test(request.routeOptions.url ?? '')) this.metrics.heartbeatAnswered(body.errorCode);
    // The client went away, or the answer is on its way already.
    if (reply.sent) return;
    if (retryAfterSeconds !== null) void reply.header('retry-after', String(retryAfterSeconds));
    void reply.status(httpStatus).send(body);
  }

  private log(error: unknown, errorCode: string, request: FastifyRequest): void {
    const isUnexpected = errorCode === 'INTERNAL_ERROR';
    const name = error instanceof Error ? error.name : typeof error;
    const fault = error instanceof Error && 'fault' in error ? String(error.fault) : '';
    this.faultLog.report([errorCode, name, fault].join(':'), isUnexpected ? 'error' : 'warn', {
      errorCode,
      route: `${request.method} ${request.routeOptions.url ?? '(none)'}`,
      requestId: request.id,
      reason: error instanceof Error ? error.message : String(error),
      ...(isUnexpected && error instanceof Error ? { stack: error.stack } : {}),
    });
  }
}

/** The names in the routes of the contract, by the segment before them. */
const NAME_BEHIND: ReadonlyMap<string, string> = new Map([
  ['streams', 'streamPrefix'],
  ['groups', 'consumerGroup'],
  ['members', 'memberId'],
]);

const SHOWN_CHARACTERS = 200;

/** An empty name leads to no route; it is a wrong name all the same. */
function notFound(request: FastifyRequest): ApiError {
  const [path = ''] = request.url.split('?');
  const segments = path.split('/').slice(1);
  const empty = segments.findIndex((segment, i) => segment === '' && NAME_BEHIND.has(segments[i - 1] ?? ''));
  const field = NAME_BEHIND.get(segments[empty - 1] ?? '');
  if (field !== undefined) return invalidRequest([{ field, rule: 'must not be empty' }]);
  return new ApiError('NOT_FOUND', `there is no ${request.method} ${path.slice(0, SHOWN_CHARACTERS)}`);
}
