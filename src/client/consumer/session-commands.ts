import type { ShardIndex } from '../../domain/ids';

/**
 * Why a tenure ended.
 * LEASE_OVER           no renewal in time
 * FENCED_MEMBER_EPOCH  another tenure of this member id, a deadline, an operator
 * UNKNOWN_MEMBER_ID    the coordinator has no such member
 * REFUSED              the coordinator refuses what this client says; there is no other tenure
 * LEFT                 stopped in an orderly way; there is no other tenure
 */
export type TenureEnd = 'LEASE_OVER' | 'FENCED_MEMBER_EPOCH' | 'UNKNOWN_MEMBER_ID' | 'REFUSED' | 'LEFT';

/** What a member session wants to be done, in this order, before it is asked or told anything else. */
export type SessionCommand =
  /** A join was answered. The shards that it grants follow as START. */
  | {
      readonly kind: 'TENURE_STARTED';
      readonly memberEpoch: number;
      readonly assigned: number;
      readonly pending: number;
    }
  /** The lease was renewed: reads that waited for it may go on. */
  | { readonly kind: 'LEASE_RENEWED' }
  /** The first answer of a correction round. Nothing is started until the round has ended. */
  | { readonly kind: 'CORRECTION_STARTED'; readonly metadataVersion: number }
  /** The first answer after it: what was kept is read on, what else is granted follows as START. */
  | { readonly kind: 'CORRECTION_ENDED'; readonly metadataVersion: number }
  /** Read this shard, once whatever this process still does on it has ended. It is not being read now. */
  | { readonly kind: 'START'; readonly shard: ShardIndex; readonly token: number }
  /** The shard is read on without a break; its handlers have this token from now on. */
  | { readonly kind: 'RENEW_TOKEN'; readonly shard: ShardIndex; readonly token: number }
  /** Read no more of this shard, finish what is in a handler, flush acks, then report it stopped. */
  | { readonly kind: 'DRAIN'; readonly shard: ShardIndex }
  /** The drain takes too long: abort its handlers, refuse its acks. It is still stopped only when nothing runs. */
  | { readonly kind: 'ABORT_DRAIN'; readonly shard: ShardIndex }
  /** Stop everything at once: no read, no ack, handlers aborted. */
  | { readonly kind: 'STOP_ALL'; readonly reason: TenureEnd; readonly memberEpoch: number }
  /** The request under way is to be dropped; whatever it brings is not applied. */
  | { readonly kind: 'ABANDON_REQUEST' }
  /** The coordinator knows no such group. The session keeps asking. */
  | { readonly kind: 'GROUP_MISSING' }
  /** The coordinator will never accept this client. */
  | { readonly kind: 'REFUSED'; readonly status: string; readonly message: string }
  /** Nothing more will be asked or commanded. */
  | { readonly kind: 'ENDED' };

/** A correction round was entered or left. */
export function correctionNews(isCorrecting: boolean, metadataVersion: number): SessionCommand {
  return { kind: isCorrecting ? 'CORRECTION_STARTED' : 'CORRECTION_ENDED', metadataVersion };
}
