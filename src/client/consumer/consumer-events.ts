/** Why a shard is not this consumer's any more. */
export type RevokeReason =
  | 'DRAINED'
  | 'LEASE_OVER'
  | 'FENCED_MEMBER_EPOCH'
  | 'UNKNOWN_MEMBER_ID'
  | 'REFUSED'
  | 'LEFT';

/** Events of a StreamConsumer, with their arguments. Listeners run in the consumer's own loops: they should be short. */
export interface ConsumerEvents {
  /** A shard is read from now on. */
  assigned: [{ readonly memberId: string; readonly shard: number; readonly fencingToken: number }];
  /** A shard is not read any more, and with reason DRAINED nothing of it runs. */
  revoked: [{ readonly memberId: string; readonly shard: number; readonly reason: RevokeReason }];
  /** The coordinator ended the tenure of a member: it has stopped and joins anew. */
  fenced: [{ readonly memberId: string; readonly memberEpoch: number; readonly status: string }];
  /** No renewal came in time: the member has stopped and joins anew. */
  leaseLost: [{ readonly memberId: string; readonly memberEpoch: number }];
  /**
   * Redis lost writes of the group, or may have, and the coordinator asks everyone what they read (STARTED, when the first
   * member of this process is told). Until the round has ended (when the last one is) shards that are kept are read on, others
   * are drained, and nothing is assigned.
   */
  correction: [{ readonly state: 'STARTED' | 'ENDED'; readonly metadataVersion: number }];
  /** The coordinator does not know the group (any more). The consumer keeps asking. At most one per 10 s. */
  groupMissing: [{ readonly streamPrefix: string; readonly consumerGroup: string }];
  /**
   * Trouble. What is being retried is told at most once per kind and 10 s, and only to listeners. A ProtocolRefusedError or a
   * defect ends the consumer, and is thrown where nobody listens, as Node does with every 'error' event.
   */
  error: [Error];
}
