import type { HeartbeatAnswer, HeartbeatBody, ProducerRouting } from '../../protocol';

export interface CoordinatorCallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds, waiting time of a long poll included. */
  readonly timeoutMs?: number;
}

/** What a consumer needs of a coordinator. `CoordinatorClient` is one; the simulation and the tests bring others. */
export interface CoordinatorPort {
  /** One attempt, not repeated by the port. The answer belongs to this request and has the shape of the contract. */
  heartbeat(
    streamPrefix: string,
    consumerGroup: string,
    memberId: string,
    body: HeartbeatBody,
    options?: CoordinatorCallOptions,
  ): Promise<HeartbeatAnswer>;
  producerRouting(
    streamPrefix: string,
    consumerGroup: string,
    query?: { readonly metadataVersion?: number },
    options?: CoordinatorCallOptions,
  ): Promise<Pick<ProducerRouting, 'shardCount'>>;
}

/** Why a heartbeat got no answer with status 200. */
export interface CoordinatorFailure {
  /** null: no answer at all. */
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly message: string;
  readonly cause: unknown;
}

/** By shape, so that any port will do. */
export function coordinatorFailureOf(error: unknown): CoordinatorFailure {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Readonly<
    Record<string, unknown>
  >;
  const { httpStatus, errorCode } = fields;
  return {
    httpStatus: typeof httpStatus === 'number' ? httpStatus : null,
    errorCode: typeof errorCode === 'string' ? errorCode : null,
    message: error instanceof Error ? error.message : String(error),
    cause: error,
  };
}
