import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { LateRequests } from './late-requests';
import { CoordinatorTerminatingError } from './section-errors';
import { ShutdownGate } from './shutdown-gate';

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The first of the checks of a request (docs/protocol.md): once the gate is closed, whatever may change something is refused
 * before its body is read, malformed or not. Reads are answered until the listener closes. Either answer closes its connection:
 * a client that went on using it would lose a request to the end of this process.
 */
@Injectable()
export class TerminationHook implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly gate: ShutdownGate,
    private readonly lateRequests: LateRequests,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onRequest', (request, reply, done) => {
      if (!this.gate.isClosed) {
        done();
        return;
      }
      this.lateRequests.came();
      void reply.header('connection', 'close');
      done(READING_METHODS.has(request.method) ? undefined : new CoordinatorTerminatingError());
    });
  }
}
