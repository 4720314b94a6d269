import { JOIN_EPOCH, type HeartbeatAnswer, type HeartbeatBody } from '../../src/protocol';
import { heartbeatOf } from '../support/coordinator-calls';

export interface Report {
  readonly body: HeartbeatBody;
  /** Shards that it says are given up. */
  readonly revoked: readonly number[];
}

/**
 * The state of a member that sends the base fields of a heartbeat only, as clients in other languages do: no instanceId, no
 * previousEpoch, nothing about what it has seen. It stops at once what it is told to drain, and reports that with the next
 * heartbeat.
 */
export class BaseMember {
  readonly reading = new Set<number>();
  memberEpoch: number = JOIN_EPOCH;
  metadataVersion = 0;
  private readonly stopped = new Set<number>();

  constructor(readonly memberId: string) {}

  report(more: Readonly<Record<string, unknown>> = {}): Report {
    const revoked = [...this.stopped];
    const body = heartbeatOf(this.memberId, {
      memberEpoch: this.memberEpoch,
      metadataVersion: this.metadataVersion,
      ownedShards: [...this.reading].map((shardIndex) => ({ shardIndex })),
      revokingShards: revoked.map((shardIndex) => {
        return { shard: { shardIndex }, state: 'REVOKED', inFlight: 0, ackedAt: Date.now() };
      }),
      shardProgress: [],
      ...more,
    });
    return { body: body as unknown as HeartbeatBody, revoked };
  }

  /** Does what it is told in answer to that report. */
  follow(answer: HeartbeatAnswer, { revoked }: Report): void {
    const { status, memberEpoch, metadataVersion, assignment } = answer;
    if (status === 'UNKNOWN_MEMBER_ID' || status === 'FENCED_MEMBER_EPOCH') {
      this.reading.clear();
      this.stopped.clear();
      this.memberEpoch = JOIN_EPOCH;
      this.metadataVersion = 0;
      return;
    }
    if (status !== 'OK' && status !== 'SYNC_METADATA' && status !== 'REVOKE_PENDING') return;
    this.memberEpoch = memberEpoch;
    this.metadataVersion = metadataVersion;
    for (const shard of revoked) this.stopped.delete(shard);
    const assigned = new Set(assignment.assignedShards.map(({ shardIndex }) => shardIndex));
    for (const shard of [...this.reading].filter((index) => !assigned.has(index))) {
      this.reading.delete(shard);
      this.stopped.add(shard);
    }
    if (status === 'OK') for (const shard of assigned) this.reading.add(shard);
  }
}
