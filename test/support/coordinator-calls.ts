import type { ErrorBody } from '../../src/protocol';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
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
