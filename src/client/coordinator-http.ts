import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request as send, type Dispatcher } from 'undici';
import type { ErrorDetail } from '../protocol';
import { CoordinatorRequestError, CoordinatorUnreachableError, InvalidOptionsError } from './errors';

/** Of a call that names no own timeout. Three of them fit into the default member lease. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** Between two heartbeats the connection stays open. A server that says how long it keeps it is believed. */
const KEEP_ALIVE_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** A call that may be repeated is sent this often, or once to every address if there are more. */
const MIN_IDEMPOTENT_ATTEMPTS = 2;
const RETRY_DELAY_MIN_MS = 25;
const RETRY_DELAY_SPREAD_MS = 50;

const MALFORMED_ANSWER = 'MALFORMED_ANSWER';
/** The request has left no trace: sending it to another address cannot carry it out twice. */
const NEVER_ARRIVED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const CONNECT_TIMEOUT = 'UND_ERR_CONNECT_TIMEOUT';
const TERMINATING = 'COORDINATOR_TERMINATING';

export interface CoordinatorCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/coord/v1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  /** Milliseconds for the whole call, repetitions included. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Names the first field that has not the promised shape; null if all have. */
export type AnswerCheck = (answer: unknown) => string | null;

/**
 * HTTP to one of several coordinators. It keeps to the address that answered last; a connection failure or a 503 moves on to
 * the next one, for all calls. Only calls without effect (GET) are repeated after they may have arrived.
 */
export class CoordinatorHttp {
  private readonly addresses: readonly string[];
  private readonly agent: Agent;
  private preferred = 0;

  constructor(
    coordinatorUrl: string | readonly string[],
    private readonly defaultTimeoutMs: number = DEFAULT_REQUEST_TIMEOUT_MS,
  ) {
    this.addresses = parseAddresses(coordinatorUrl, defaultTimeoutMs);
    this.agent = new Agent({
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      // Every call has a deadline of its own, long polls included.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  /** The answer, checked. Throws CoordinatorRequestError, CoordinatorUnreachableError, or the signal's reason. */
  async call(call: CoordinatorCall, check: AnswerCheck): Promise<unknown> {
    call.signal?.throwIfAborted();
    const timeoutMs = call.timeoutMs ?? this.defaultTimeoutMs;
    const cut = new CutOff(timeoutMs, call.signal);
    try {
      return await this.attempts(call, check, cut.signal);
    } catch (failure) {
      call.signal?.throwIfAborted();
      if (failure instanceof CoordinatorRequestError) throw failure;
      const cause = cut.timedOut
        ? new Error(`no answer within ${timeoutMs} ms`, { cause: failure })
        : failure;
      throw new CoordinatorUnreachableError(`${call.method} ${call.path}`, this.addresses, { cause });
    } finally {
      cut.end();
    }
  }

  /** Ends all connections; calls under way fail. */
  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async attempts(call: CoordinatorCall, check: AnswerCheck, signal: AbortSignal): Promise<unknown> {
    const repeatable = call.method === 'GET';
    const limit = Math.max(this.addresses.length, repeatable ? MIN_IDEMPOTENT_ATTEMPTS : 1);
    for (let attempt = 1; ; attempt++) {
      const index = this.preferred;
      try {
        return await this.once(index, call, check, signal);
      } catch (failure) {
        const moved = isOutage(failure) && this.moveOnFrom(index);
        const harmless = repeatable ? isOutage(failure) : moved && leftNoTrace(failure);
        if (!harmless || attempt >= limit || signal.aborted) throw failure;
        if (repeatable && !moved) await delay(signal);
      }
    }
  }

  private async once(
    index: number,
    call: CoordinatorCall,
    check: AnswerCheck,
    signal: AbortSignal,
  ): Promise<unknown> {
    const url = `${this.addresses[index] ?? ''}/coord/v1${call.path}${queryText(call.query)}`;
    const name = `${call.method} ${url}`;
    const answer = await send(url, {
      method: call.method,
      dispatcher: this.agent,
      signal,
      ...(call.body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(call.body) }),
    });
    const text = await answer.body.text();
    const json = parseJson(text);
    if (answer.statusCode < 200 || answer.statusCode > 299) throw refusal(name, answer, json);
    const fault = json === undefined ? 'not JSON' : check(json);
    if (fault === null) return json;
    throw new CoordinatorRequestError({
      request: name,
      httpStatus: answer.statusCode,
      errorCode: MALFORMED_ANSWER,
      message: `the answer is not one of a coordinator: ${fault}`,
      retryable: true,
    });
  }

  /** Whether the next call goes to another address. Of several calls that failed at one address only the first moves. */
  private moveOnFrom(index: number): boolean {
    if (this.preferred === index) this.preferred = (index + 1) % this.addresses.length;
    return this.preferred !== index;
  }
}

/** One signal for a caller's signal and a timeout, which leaves nothing behind on a signal that lives long. */
class CutOff {
  timedOut = false;
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort = (): void => {
    this.controller.abort();
  };

  constructor(
    timeoutMs: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    this.timer = setTimeout(() => {
      this.timedOut = true;
      this.controller.abort();
    }, timeoutMs);
    outer?.addEventListener('abort', this.onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  end(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener('abort', this.onAbort);
  }
}

function parseAddresses(coordinatorUrl: string | readonly string[], timeoutMs: number): readonly string[] {
  const texts = typeof coordinatorUrl === 'string' ? [coordinatorUrl] : coordinatorUrl;
  const faults = texts.flatMap((text) => addressFault(text) ?? []);
  if (texts.length === 0) faults.push('coordinatorUrl names no address');
  if (!(timeoutMs > 0)) faults.push(`timeoutMs is ${timeoutMs}; it must be above 0`);
  if (faults.length > 0) throw new InvalidOptionsError('CoordinatorClient', faults);
  return texts.map((text) => {
    const url = new URL(text);
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  });
}

function addressFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return 'coordinatorUrl must be an http or https URL such as http://127.0.0.1:8080';
  }
  return url.username === '' && url.password === ''
    ? null
    : 'coordinatorUrl must not hold a user or password';
}

function queryText(query: CoordinatorCall['query']): string {
  const parameters = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function refusal(name: string, answer: Dispatcher.ResponseData, json: unknown): CoordinatorRequestError {
  const body = (typeof json === 'object' && json !== null ? json : {}) as Readonly<Record<string, unknown>>;
  const { errorCode, message, retryable, details } = body;
  const retryAfterMs = retryAfter(answer.headers['retry-after']);
  const requestId = answer.headers['x-request-id'];
  const { statusCode } = answer;
  return new CoordinatorRequestError({
    request: name,
    httpStatus: statusCode,
    errorCode: typeof errorCode === 'string' ? errorCode : MALFORMED_ANSWER,
    message: typeof message === 'string' ? message : 'the error is not one of a coordinator',
    retryable: typeof retryable === 'boolean' ? retryable : statusCode >= 500 || statusCode === 429,
    ...(Array.isArray(details) ? { details: details as readonly ErrorDetail[] } : {}),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(typeof requestId === 'string' ? { requestId } : {}),
  });
}

/** Seconds, as coordinators send it; a date (from a proxy) says nothing here. */
function retryAfter(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' && header !== '' ? Number(header) : Number.NaN;
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : null;
}

function isOutage(failure: unknown): boolean {
  return !(failure instanceof CoordinatorRequestError) || failure.httpStatus === 503;
}

function leftNoTrace(failure: unknown): boolean {
  if (failure instanceof CoordinatorRequestError) return failure.errorCode === TERMINATING;
  const code = typeof failure === 'object' && failure !== null && 'code' in failure ? failure.code : null;
  if (typeof code !== 'string') return false;
  return NEVER_ARRIVED.has(code) || code === CONNECT_TIMEOUT;
}

async function delay(signal: AbortSignal): Promise<void> {
  await sleep(RETRY_DELAY_MIN_MS + Math.random() * RETRY_DELAY_SPREAD_MS, undefined, { signal });
}
