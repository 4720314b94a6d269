import type { GroupMetadata } from '../domain/group/group-metadata';
import type { GroupKey } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
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

/** Runs one call to Redis; what its answer says of the Redis clock, and whether it failed, is noted on the way. */
export async function observeCall<Outcome extends object>(
  call: () => Promise<Outcome>,
  parts: { readonly clock: Clock; readonly clockGuard: ClockGuard; readonly loopView: LoopView },
): Promise<Outcome> {
  const sentMs = parts.clock.monotonicMs();
  try {
    const outcome: Outcome & { readonly redisNowMs?: EpochMillis } = await call();
    if (outcome.redisNowMs !== undefined) {
      const { redisNowMs } = outcome;
      parts.clockGuard.observe({ sentMs, receivedMs: parts.clock.monotonicMs(), redisNowMs });
    }
    return outcome;
  } catch (error) {
    if (error instanceof StoreError && isConnectionFault(error.fault)) parts.loopView.recordConnectionError();
    throw error;
  }
}

/** The metadata store with each call observed. */
export class ObservedStore implements MetadataStore {
  constructor(
    private readonly store: MetadataStore,
    private readonly parts: {
      readonly clock: Clock;
      readonly clockGuard: ClockGuard;
      readonly loopView: LoopView;
    },
  ) {}

  lockAndLoad(key: GroupKey, request: LockRequest): Promise<LockOutcome> {
    return observeCall(() => this.store.lockAndLoad(key, request), this.parts);
  }

  commitAndUnlock(key: GroupKey, commit: GroupCommit): Promise<CommitOutcome> {
    return observeCall(() => this.store.commitAndUnlock(key, commit), this.parts);
  }

  unlock(key: GroupKey, token: string): Promise<void> {
    return this.store.unlock(key, token);
  }

  load(key: GroupKey, known?: GroupMetadata): Promise<LoadOutcome> {
    return observeCall(() => this.store.load(key, known), this.parts);
  }

  renewLeases(key: GroupKey, renewal: LeaseRenewal): Promise<RenewalOutcome> {
    return observeCall(() => this.store.renewLeases(key, renewal), this.parts);
  }

  loadReports(key: GroupKey): ReturnType<MetadataStore['loadReports']> {
    return this.store.loadReports(key);
  }
}
