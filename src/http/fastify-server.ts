import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CoordinatorOptions } from '../config/coordinator-options';
import { ApiError } from './api-error';
import { errorAnswerOf, reasonOf } from './error-body';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id';

/** A request must have arrived whole within this time (a slow sender holds a socket). */
const REQUEST_TIMEOUT_MS = 30_000;
/** A connection on which nothing was sent or received for this time is closed; above the longest long poll. */
const CONNECTION_IDLE_MARGIN_MS = 30_000;
/** Idle keep-alive connections. Above the usual 60 s of load balancers, which must close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Names that are too long must arrive at the validation to be named in a 400. Node bounds the whole head to 16 KiB. */
const MAX_PARAM_LENGTH = 16_384;

/** The HTTP server with all its bounds. Answers in the error shape of the contract even before Nest sees a request. */
export function createFastifyServer(options: CoordinatorOptions): FastifyAdapter {
  const adapter = new FastifyAdapter({
    bodyLimit: options.limits.bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: longestLongPollMs(options) + CONNECTION_IDLE_MARGIN_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Whom a request comes from is what the socket says, until there is a setting for trusted proxies.
    trustProxy: false,
    logger: false,
    // Termination is answered by the shutdown gate, in the contract's shape.
    return503OnClosing: false,
    // No route of Nest's is for HEAD.
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: requestIdOf,
    skipMiddie: true,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      const { httpStatus, body } = errorAnswerOf(error);
      void reply.status(httpStatus).header(REQUEST_ID_HEADER, request.id).send(body);
    },
    clientErrorHandler: answerUnreadable,
  });
  const fastify = adapter.getInstance();
  fastify.removeContentTypeParser('text/plain');
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header(REQUEST_ID_HEADER, request.id);
    done();
  });
  return adapter;
}

/** On a connection that waits for an answer nothing is sent or received either. */
function longestLongPollMs({ timing }: CoordinatorOptions): number {
  return Math.max(timing.heartbeatIntervalMs, timing.routingRefreshMs);
}

const STATUS_BY_NODE_ERROR: ReadonlyMap<string, number> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_HEADER_OVERFLOW', 431],
]);

/** What is not HTTP, or comes too slowly, never becomes a request: it is answered on the socket. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const httpStatus = STATUS_BY_NODE_ERROR.get(error.code ?? '') ?? 400;
  const { body } = errorAnswerOf(
    new ApiError('INVALID_REQUEST', 'the request is not HTTP that this server understands'),
  );
  const text = JSON.stringify({ ...body, status: reasonOf(httpStatus) });
  const head = [
    `HTTP/1.1 ${httpStatus} ${reasonOf(httpStatus)}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
