import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../src/app.module';
import { type Environment, readOptions } from '../../src/config/read-options';
import { createApplication } from '../../src/http/create-application';
import { StructuredLogger } from '../../src/http/structured-logger';
import type { ErrorBody } from '../../src/protocol';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

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

export async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Answer> {
  const withBody = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, ...withBody, ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function errorOf(answer: Answer): ErrorBody {
  return answer.body as ErrorBody;
}

/** A heartbeat with the base fields only, as an older client sends it. */
export function heartbeatOf(
  memberId: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    protocolVersion: 1,
    requestId: `request-of-${memberId}`,
    memberId,
    memberEpoch: 0,
    metadataVersion: 0,
    runtimeConsumerCapacity: { runtimeMaxConcurrency: 1, availableConcurrency: 1 },
    ...more,
  };
}
