/** A Redis URL that cannot be used. The message never holds the URL: it may hold a password. */
export class RedisUrlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RedisUrlError';
  }
}

const SCHEMES = ['redis:', 'rediss:'];
const SHAPE = 'redis://[user:password@]host[:port][/db]';
const DATABASE_PATH = /^(\/[0-9]{0,4})?$/;

/**
 * Checks a Redis URL and returns it. A password with an unencoded `@ : / # ?` would be parsed as another host, so whatever is
 * ambiguous is refused with an explanation.
 * @throws RedisUrlError
 */
export function checkedRedisUrl(text: string): string {
  const scheme = SCHEMES.find((candidate) => text.startsWith(`${candidate}//`));
  if (scheme === undefined) throw new RedisUrlError(`a Redis URL is ${SHAPE}, or rediss: for TLS`);
  const rest = text.slice(scheme.length + 2);
  refuseReservedCharacters(rest);
  const url = parsed(text);
  if (url.hostname === '') throw new RedisUrlError(`a Redis URL names a host: ${SHAPE}`);
  if (!DATABASE_PATH.test(url.pathname)) {
    throw new RedisUrlError('the path of a Redis URL is a database number, e.g. /0');
  }
  if (url.search !== '' || url.hash !== '') {
    throw new RedisUrlError(`a Redis URL has no query and no fragment: ${SHAPE}`);
  }
  return text;
}

/** Between the scheme and the last `@` only `user:password` may stand, with everything reserved percent-encoded. */
function refuseReservedCharacters(rest: string): void {
  const lastAt = rest.lastIndexOf('@');
  if (lastAt < 0) return;
  const credentials = rest.slice(0, lastAt);
  const separator = credentials.indexOf(':');
  const password = separator < 0 ? '' : credentials.slice(separator + 1);
  const user = separator < 0 ? credentials : credentials.slice(0, separator);
  const reserved = /[@:/#?\s]/.exec(user + password)?.[0];
  if (reserved !== undefined) {
    throw new RedisUrlError(
      `the user or password in the Redis URL holds an unencoded "${reserved}": percent-encode reserved characters ` +
        '(@ %40, : %3A, / %2F, # %23, ? %3F, % %25), or the URL means another host',
    );
  }
  if (/%(?![0-9A-Fa-f]{2})/.test(credentials)) {
    throw new RedisUrlError(
      'the user or password in the Redis URL holds a "%" that encodes nothing: write %25',
    );
  }
}

function parsed(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new RedisUrlError(
      `the Redis URL cannot be parsed; it is ${SHAPE}, with reserved characters of the password percent-encoded`,
    );
  }
}
