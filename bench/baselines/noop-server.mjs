/**
 * Baseline of the heartbeat: a POST on the same route of the same server stack (Nest on Fastify, the same body limit) that
 * does nothing: no validation, no hooks, no logging, a constant answer. What is left is the cost of the stack itself.
 */
import 'reflect-metadata';
import { Body, Controller, HttpCode, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { fromDist } from '../lib/measure.mjs';
import { serve } from '../lib/processes.mjs';

const { deriveLimits } = await fromDist('config/derived-limits.js');

const ROUTE = 'streams/:streamPrefix/groups/:consumerGroup/members/:memberId/heartbeat';
const LOCK_TTL_MS = 5_000;
const MAX_SHARD_COUNT = 4_096;

class NoopController {
  heartbeat() {
    return { status: 'OK' };
  }
}
// Decorators by hand: this is plain JavaScript.
const { prototype } = NoopController;
const method = Object.getOwnPropertyDescriptor(prototype, 'heartbeat');
Param('memberId')(prototype, 'heartbeat', 0);
Body()(prototype, 'heartbeat', 1);
HttpCode(200)(prototype, 'heartbeat', method);
Post(ROUTE)(prototype, 'heartbeat', method);
Controller('coord/v1')(NoopController);

class NoopModule {}
Module({ controllers: [NoopController] })(NoopModule);

const { bodyLimitBytes } = deriveLimits({ lockTtlMs: LOCK_TTL_MS, maxShardCount: MAX_SHARD_COUNT });
const adapter = new FastifyAdapter({ bodyLimit: bodyLimitBytes, logger: false, skipMiddie: true });
const app = await NestFactory.create(NoopModule, adapter, { logger: false });
await app.listen(0, '127.0.0.1');
const { port } = app.getHttpServer().address();

serve({ url: () => `http://127.0.0.1:${port}` });
