import type { DynamicModule, LoggerService, NestApplicationOptions } from '@nestjs/common';
import { NestApplicationContextOptions } from '@nestjs/common/interfaces/nest-application-context-options.interface';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { CoordinatorOptions } from '../config/coordinator-options';
import { createFastifyServer } from './fastify-server';
import { serveOpenApi } from './openapi';

/** The whole application, not listening yet. Used by main.ts and by the tests alike. */
export async function createApplication(
  module: DynamicModule,
  options: CoordinatorOptions,
  logger: LoggerService,
): Promise<NestFastifyApplication> {
  const settings: NestApplicationOptions = Object.assign(new NestApplicationContextOptions(), {
    logger,
    // Fastify's own parser: JSON only, `__proto__` refused, and nothing else becomes a body.
    bodyParser: false,
    abortOnError: false,
  });
  const server = createFastifyServer(options);
  const app = await NestFactory.create<NestFastifyApplication>(module, server, settings);
  serveOpenApi(app);
  return app;
}
