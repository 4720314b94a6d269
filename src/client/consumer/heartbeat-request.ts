import type { ShardIndex } from '../../domain/ids';
import type { MonotonicMillis } from '../../domain/time';
import { CURRENT_PROTOCOL_VERSION, JOIN_EPOCH, LEAVE_EPOCH } from '../../protocol';
import type { HeartbeatBody, ShardProgress } from '../../protocol';
import type { SessionCommand } from './session-commands';
import type { ShardBook } from './shard-book';
import type { TenureIdentity } from './tenure-identity';

/** What a session asks of the side that does the work, when it writes a report. */
export interface ShardActivity {
  /** Entries of the shard whose handler runs. */
  inFlight(shard: ShardIndex): number;
  /** Whether another handler could be run now: 0 or 1, as a member runs one at a time. */
  availableConcurrency(): number;
  progress(): readonly ShardProgress[];
}

/**
 * JOIN   asks for a tenure
 * BEAT   keeps it and reports
 * LEAVE  gives it up; renews nothing
 */
export type RequestKind = 'JOIN' | 'BEAT' | 'LEAVE';

/** A heartbeat on its way. */
export interface OutgoingHeartbeat {
  readonly sequence: number;
  readonly kind: RequestKind;
  readonly body: HeartbeatBody;
  /** The lease counts from here. */
  readonly sentAtMs: MonotonicMillis;
  /** Above 0: the coordinator may hold the answer so long. */
  readonly waitMs: number;
  readonly reportedRevoked: ReadonlySet<ShardIndex>;
}

/** A logical member runs one handler at a time. */
const MEMBER_CONCURRENCY = 1;

export interface ReportContext {
  readonly memberId: string;
  readonly memberName: string | null;
  readonly identity: TenureIdentity;
  readonly book: ShardBook;
  readonly activity: ShardActivity;
}

export function heartbeatBody(
  kind: RequestKind,
  { memberId, memberName, identity, book, activity }: ReportContext,
  request: { readonly requestId: string; readonly waitMs: number },
): HeartbeatBody {
  const isJoin = kind === 'JOIN';
  const epochs = { JOIN: JOIN_EPOCH, BEAT: identity.memberEpoch, LEAVE: LEAVE_EPOCH };
  const previousEpochs = { JOIN: identity.previousEpoch, BEAT: 0, LEAVE: identity.memberEpoch };
  return {
    protocolVersion: CURRENT_PROTOCOL_VERSION,
    requestId: request.requestId,
    memberId,
    memberEpoch: epochs[kind],
    metadataVersion: identity.viewVersion,
    runtimeConsumerCapacity: {
      runtimeMaxConcurrency: MEMBER_CONCURRENCY,
      availableConcurrency: activity.availableConcurrency(),
    },
    // Both lists, always: absent ones are no news, and a coordinator that awaits a report would go on waiting.
    ownedShards: isJoin ? [] : book.owned().map((shardIndex) => ({ shardIndex })),
    revokingShards: isJoin ? [] : book.revokeReports((shard) => activity.inFlight(shard)),
    shardProgress: isJoin ? [] : activity.progress(),
    instanceId: identity.instanceId,
    maxObservedVersion: identity.maxObservedVersion,
    ...(memberName === null ? {} : { memberName }),
    ...(previousEpochs[kind] > 0 ? { previousEpoch: previousEpochs[kind] } : {}),
    ...(request.waitMs > 0 ? { waitMs: request.waitMs } : {}),
  };
}

/**
 * The one request under way of a member. Only the answer to the request that is in the slot is ever applied: one that was
 * abandoned, or overtaken by the end of its tenure, has left it.
 */
export class RequestSlot {
  private sequence = 0;
  private content: OutgoingHeartbeat | null = null;

  get isFree(): boolean {
    return this.content === null;
  }

  fill(heartbeat: Omit<OutgoingHeartbeat, 'sequence'>): OutgoingHeartbeat {
    this.sequence += 1;
    this.content = { sequence: this.sequence, ...heartbeat };
    return this.content;
  }

  /** Empties the slot if this request is in it. */
  take(sequence: number): OutgoingHeartbeat | null {
    const sent = this.content;
    if (sent?.sequence !== sequence) return null;
    this.content = null;
    return sent;
  }

  abandon(): SessionCommand[] {
    if (this.content === null) return [];
    this.content = null;
    return [{ kind: 'ABANDON_REQUEST' }];
  }

  /** Abandons a request only if the coordinator may be holding its answer. */
  abandonWaiting(): SessionCommand[] {
    return this.content !== null && this.content.waitMs > 0 ? this.abandon() : [];
  }
}
