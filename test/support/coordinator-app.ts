import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../src/app.module';
import { type Environment, readOptions } from '../../src/config/read-options';
import { createApplication } from '../../src/http/create-application';
import { StructuredLogger } from '../../src/http/structured-logger';
import { type Answer, call } from './coordinator-calls';

export { type Answer, call, errorOf, heartbeatOf } from './coordinator-calls';

/** The whole coordinator in this process, on a free port, with a real Redis. */
export interface CoordinatorApp {
  readonly url: string;
  readonly app: NestFastifyApplication;
  /** Lines that it logged, as objects. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  call(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Answer>;
  close(): Promise<void>;
}

/** Fast enough for tests; ticks are rare, so that a comparison of Redis before and after is about the request. */
const TEST_ENVIRONMENT: Environment = {
  PORT: '0',
  LOG_LEVEL: 'debug',
  COORD_MEMBER_LEASE_TTL_MS: '6000',
  COORD_HEARTBEAT_INTERVAL_MS: '2000',
  COORD_REBALANCE_TIMEOUT_MS: '6000',
};

export async function startCoordinatorApp(
  redisUrl: string,
  environment: Environment = {},
): Promise<CoordinatorApp> {
  const read = readOptions({ ...TEST_ENVIRONMENT, REDIS_URL: redisUrl, ...environment });
  if (!read.ok) throw new Error(read.refusal.join('\n'));
  const { options } = read.value;
  const log: Record<string, unknown>[] = [];
  const sink = { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) };
  const app = await createApplication(AppModule.with(options), options, new StructuredLogger(options, sink));
  await app.listen({ host: options.host, port: options.port });
  const url = await app.getUrl();
  return {
    url,
    app,
    log,
    call: (method, path, body, init) => call(url, method, path, body, init),
    close: () => app.close(),
  };
}
