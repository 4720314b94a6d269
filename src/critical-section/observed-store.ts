import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import type { GroupIndex } from '../store/group-index';
import { StoreError } from '../store/metadata-store';
import type {
  CommitOutcome,
  GroupCommit,
  LeaseRenewal,
  LoadOutcome,
  LockOutcome,
  LockRequest,
  MetadataStore,
  RenewalOutcome,
  StoreFault,
} from '../store/metadata-store';
import type { ClockGuard } from './clock-guard';
import type { LoopView } from './loop-view';
import type { Clock } from './runtime-ports';

/** Whether Redis could not be asked at all: members may have been kept from renewing as well. */
export function isConnectionFault(fault: StoreFault): boolean {
  switch (fault) {
    case 'CONNECTION':
    case 'TIMEOUT':
    case 'LOADING':
    case 'READ_ONLY':
    case 'CLUSTER_REDIRECT':
      return true;
    case 'OUT_OF_MEMORY':
    case 'NOT_AUTHENTICATED':
    case 'NOT_PERMITTED':
    case 'UNEXPECTED':
      return false;
  }
}

export interface CallObservers {
  readonly clock: Clock;
  readonly clockGuard: ClockGuard;
  readonly loopView: LoopView;
}

/** Runs one call to Redis, and notes when Redis could not be asked. */
export async function observeFaults<Outcome>(
  call: () => Promise<Outcome>,
  { loopView }: Pick<CallObservers, 'loopView'>,
): Promise<Outcome> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof StoreError && isConnectionFault(error.fault)) loopView.recordConnectionError();
    throw error;
  }
}

/** The same for a call whose answer tells the Redis clock, which is noted too. */
export async function observeCall<Outcome extends object>(
  call: () => Promise<Outcome>,
  observers: CallObservers,
): Promise<Outcome> {
  const { clock, clockGuard } = observers;
  const sentMs = clock.monotonicMs();
  const outcome: Outcome & { readonly redisNowMs?: EpochMillis } = await observeFaults(call, observers);
  const { redisNowMs } = outcome;
  if (redisNowMs !== undefined) {
    clockGuard.observe({ sentMs, receivedMs: clock.monotonicMs(), redisNowMs });
  }
  return outcome;
}

/** The metadata store with each call observed. */
export class ObservedStore implements MetadataStore {
  constructor(
    private readonly store: MetadataStore,
    private readonly parts: CallObservers,
  ) {}

  lockAndLoad(key: GroupKey, request: LockRequest): Promise<LockOutcome> {
    return observeCall(() => this.store.lockAndLoad(key, request), this.parts);
  }

  commitAndUnlock(key: GroupKey, commit: GroupCommit): Promise<CommitOutcome> {
    return observeCall(() => this.store.commitAndUnlock(key, commit), this.parts);
  }

  unlock(key: GroupKey, token: string): Promise<void> {
    return observeFaults(() => this.store.unlock(key, token), this.parts);
  }

  load(key: GroupKey, known?: GroupMetadata): Promise<LoadOutcome> {
    return observeCall(() => this.store.load(key, known), this.parts);
  }

  renewLeases(key: GroupKey, renewal: LeaseRenewal): Promise<RenewalOutcome> {
    return observeCall(() => this.store.renewLeases(key, renewal), this.parts);
  }

  loadReports(key: GroupKey): ReturnType<MetadataStore['loadReports']> {
    return observeFaults(() => this.store.loadReports(key), this.parts);
  }
}

/** What a section does with the index, observed too. */
export function observedIndex(
  index: Pick<GroupIndex, 'bringForward' | 'remove'>,
  parts: CallObservers,
): Pick<GroupIndex, 'bringForward' | 'remove'> {
  return {
    bringForward: (key, dueMs) => observeFaults(() => index.bringForward(key, dueMs), parts),
    remove: (key) => observeFaults(() => index.remove(key), parts),
  };
}
