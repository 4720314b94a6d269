import { RedisFaultError } from '../../redis/redis-fault';
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

const SHOWN_LENGTH = 200;

/** Redis answered what no version of our scripts answers: another script is loaded, or a key is of another kind. */
export function unexpectedReply(operation: string, reply: unknown): StoreError {
  const shown = JSON.stringify(reply).slice(0, SHOWN_LENGTH);
  return new StoreError(operation, 'UNEXPECTED', false, { cause: new Error(`unexpected reply ${shown}`) });
}
