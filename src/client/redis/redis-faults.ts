/**
 * Kinds of trouble that Redis answers with or that a connection has. One kind is one line in a log and one backoff.
 */
export type RedisFault =
  | 'NOGROUP'
  | 'UNBLOCKED'
  | 'MOVED'
  | 'READONLY'
  | 'LOADING'
  | 'OOM'
  | 'NOPERM'
  | 'NOAUTH'
  | 'NOSCRIPT'
  | 'WRONGTYPE'
  | 'CONNECTION'
  | 'TIMEOUT'
  | 'OTHER';

const BY_PREFIX: ReadonlyMap<string, RedisFault> = new Map([
  ['NOGROUP', 'NOGROUP'],
  ['UNBLOCKED', 'UNBLOCKED'],
  ['MOVED', 'MOVED'],
  ['ASK', 'MOVED'],
  ['CROSSSLOT', 'MOVED'],
  ['CLUSTERDOWN', 'MOVED'],
  ['READONLY', 'READONLY'],
  ['LOADING', 'LOADING'],
  ['MASTERDOWN', 'LOADING'],
  ['BUSY', 'LOADING'],
  ['OOM', 'OOM'],
  ['NOPERM', 'NOPERM'],
  ['NOAUTH', 'NOAUTH'],
  ['WRONGPASS', 'NOAUTH'],
  ['NOSCRIPT', 'NOSCRIPT'],
  ['WRONGTYPE', 'WRONGTYPE'],
]);

const CONNECTION_LOST =
  /connection is closed|stream isn't writeable|max retries per request|command aborted due to connection close|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/i;

export function redisFaultOf(error: unknown): RedisFault {
  const message = error instanceof Error ? error.message : String(error);
  const byPrefix = BY_PREFIX.get(/^[A-Z]+/.exec(message)?.[0] ?? '');
  if (byPrefix !== undefined) return byPrefix;
  if (/command timed out/i.test(message)) return 'TIMEOUT';
  return CONNECTION_LOST.test(message) || CONNECTION_LOST.test(codeOf(error)) ? 'CONNECTION' : 'OTHER';
}

/** The stream that a NOGROUP error names, null when it names none (a read that was blocked is told without a name). */
export function missingStreamKey(error: unknown): string | null {
  const message = error instanceof Error ? error.message : '';
  return /No such key '(.*)' or consumer group/s.exec(message)?.[1] ?? null;
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}
