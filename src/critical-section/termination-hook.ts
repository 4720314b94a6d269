import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { CoordinatorTerminatingError } from './section-errors';
import { ShutdownGate } from './shutdown-gate';

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The first of the checks of a request (docs/protocol.md): once the gate is closed, whatever may change something is refused
 * before its body is read, malformed or not. Reads are answered until the listener closes.
 */
@Injectable()
export class TerminationHook implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly gate: ShutdownGate,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onRequest', (request, _reply, done) => {
      if (this.gate.isClosed && !READING_METHODS.has(request.method)) done(new CoordinatorTerminatingError());
      else done();
    });
  }
}
