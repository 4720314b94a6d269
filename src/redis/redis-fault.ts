/** What can be wrong between us and Redis: a closed set, for metrics, logs and decisions. */
export type RedisFault =
  | 'CONNECTION'
  | 'TIMEOUT'
  | 'OUT_OF_MEMORY'
  | 'READ_ONLY'
  | 'LOADING'
  | 'NOT_AUTHENTICATED'
  | 'NOT_PERMITTED'
  | 'CLUSTER_REDIRECT'
  | 'UNEXPECTED';

/** Redis could not be asked, or refused. Whether a write happened is unknown for CONNECTION and TIMEOUT; else it did not. */
export class RedisFaultError extends Error {
  constructor(
    readonly operation: string,
    readonly fault: RedisFault,
    readonly retryable: boolean,
    options: { cause: unknown },
  ) {
    super(`Redis failed during ${operation} (${fault})`, options);
    this.name = 'RedisFaultError';
  }
}

/** By the code at the beginning of an error reply, or behind a script's prefix in older versions. */
const FAULT_BY_CODE: Readonly<Record<string, RedisFault>> = {
  OOM: 'OUT_OF_MEMORY',
  READONLY: 'READ_ONLY',
  // A replica without its master, too few replicas, or a disk that cannot be written: reading may go on, writing not.
  MASTERDOWN: 'READ_ONLY',
  NOREPLICAS: 'READ_ONLY',
  MISCONF: 'READ_ONLY',
  LOADING: 'LOADING',
  // Another script runs for too long: as if Redis did not answer.
  BUSY: 'TIMEOUT',
  NOAUTH: 'NOT_AUTHENTICATED',
  WRONGPASS: 'NOT_AUTHENTICATED',
  NOPERM: 'NOT_PERMITTED',
  MOVED: 'CLUSTER_REDIRECT',
  ASK: 'CLUSTER_REDIRECT',
  CROSSSLOT: 'CLUSTER_REDIRECT',
  CLUSTERDOWN: 'CLUSTER_REDIRECT',
  TRYAGAIN: 'CLUSTER_REDIRECT',
};
const CODE = new RegExp(`(?:^|[\\s:-])(${Object.keys(FAULT_BY_CODE).join('|')})\\s`);

/** How the server says it without a code. */
const FAULT_BY_WORDING: readonly (readonly [RegExp, RedisFault])[] = [
  [/The user executing the script/, 'NOT_PERMITTED'],
  [/invalid password|invalid username-password/i, 'NOT_AUTHENTICATED'],
  [/max number of clients reached/i, 'CONNECTION'],
];

const CONNECTION_ERRORS = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ETIMEDOUT', 'EADDRNOTAVAIL'],
]);
const CONNECTION_WORDING =
  /Connection is closed|Stream isn't writeable|max retries per request|connection close|connect ETIMEDOUT|closed the connection/i;
const TIMEOUT_WORDING = /Command timed out|Socket timeout|Blocking command timed out/;

/** Waiting does not help against these: somebody has to change a password, an ACL or an address. */
const FATAL: ReadonlySet<RedisFault> = new Set(['NOT_AUTHENTICATED', 'NOT_PERMITTED', 'UNEXPECTED']);
const RETRYABLE_REDIRECT = /CLUSTERDOWN|TRYAGAIN/;

/** The one place that reads the errors of Redis and of its driver. */
export function faultOf(error: unknown): { readonly fault: RedisFault; readonly retryable: boolean } {
  if (error instanceof RedisFaultError) return { fault: error.fault, retryable: error.retryable };
  const message = messageOf(error);
  const fault = isReply(error) ? faultOfReply(message) : faultOfDriver(error, message);
  const retryable = fault === 'CLUSTER_REDIRECT' ? RETRYABLE_REDIRECT.test(message) : !FATAL.has(fault);
  return { fault, retryable };
}

function faultOfReply(message: string): RedisFault {
  const code = CODE.exec(message)?.[1];
  const byCode = code === undefined ? undefined : FAULT_BY_CODE[code];
  return byCode ?? FAULT_BY_WORDING.find(([wording]) => wording.test(message))?.[1] ?? 'UNEXPECTED';
}

function faultOfDriver(error: unknown, message: string): RedisFault {
  if (TIMEOUT_WORDING.test(message)) return 'TIMEOUT';
  const code = isObject(error) ? error['code'] : undefined;
  const isConnection =
    (typeof code === 'string' && CONNECTION_ERRORS.has(code)) || CONNECTION_WORDING.test(message);
  return isConnection ? 'CONNECTION' : 'UNEXPECTED';
}

/** Whether Redis itself answered with this error (the driver's own are of other kinds). */
export function isReply(error: unknown): boolean {
  return isObject(error) && error['name'] === 'ReplyError';
}

/** The text of whatever was thrown. By its shape: an error of another realm is no instance of our `Error`. */
export function messageOf(error: unknown): string {
  const message = isObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : String(error);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
