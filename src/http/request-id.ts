import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';
/** What may be echoed into a header and a log line: no blanks, no control characters, nothing outside ASCII. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9_.:@/+=-]{1,200}$/;

/** The caller's X-Request-Id if it is one; otherwise a new one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : randomUUID();
}
