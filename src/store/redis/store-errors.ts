import { RedisFaultError } from '../../redis/redis-fault';
import type { RedisIdentity } from '../../redis/redis-identity';
import { StoreError } from '../metadata-store';

/** Runs a call to Redis; whatever goes wrong with it becomes a `StoreError`. Defects of our own pass through. */
export async function asStoreCall<Value>(operation: string, call: () => Promise<Value>): Promise<Value> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof RedisFaultError)) throw error;
    throw new StoreError(operation, error.fault, error.retryable, { cause: error });
  }
}

/**
 * Runs a call whose outcome depends on which Redis answers it: not before that is known. A server that takes no writes, or is
 * loading, may hold other data when it does again.
 */
export async function identifiedCall(
  operation: string,
  identity: Pick<RedisIdentity, 'current' | 'read' | 'forget'>,
  call: (redisId: string) => Promise<unknown>,
): Promise<{ readonly reply: unknown; readonly redisId: string }> {
  return asStoreCall(operation, async () => {
    const redisId = identity.current ?? (await identity.read());
    try {
      return { reply: await call(redisId), redisId };
    } catch (error) {
      if (error instanceof RedisFaultError && isOtherDataLikely(error)) identity.forget();
      throw error;
    }
  });
}

function isOtherDataLikely({ fault }: RedisFaultError): boolean {
  return fault === 'READ_ONLY' || fault === 'LOADING';
}

const SHOWN_LENGTH = 200;

/** Redis answered what no version of our scripts answers: another script is loaded, or a key is of another kind. */
export function unexpectedReply(operation: string, reply: unknown): StoreError {
  const shown = JSON.stringify(reply).slice(0, SHOWN_LENGTH);
  return new StoreError(operation, 'UNEXPECTED', false, { cause: new Error(`unexpected reply ${shown}`) });
}
