import type { GroupKey } from '../../src/domain/ids';
import type { HeartbeatAnswer, HeartbeatStatus } from '../../src/protocol';
import { answerOf, type CoordinatorProcess } from '../support/coordinator-process';

/**
 * A member that sends the base fields of a heartbeat only, as clients in other languages do: no instanceId, no previousEpoch,
 * nothing about what it has seen. It stops at once what it is told to drain, and reports that with the next heartbeat.
 */
export class BaseClient {
  readonly reading = new Set<number>();
  /** Of each answer that it got, in order, but for RETRY. */
  readonly statuses: HeartbeatStatus[] = [];
  metadataVersion = 0;
  private memberEpoch = 0;
  private readonly stopped = new Set<number>();

  constructor(
    private readonly coordinator: CoordinatorProcess,
    private readonly key: GroupKey,
    readonly memberId: string,
  ) {}

  /** One heartbeat. null: it was not answered with 200, or its answer is to be lost on the way. */
  async beat({ losesAnswer = false } = {}): Promise<HeartbeatAnswer | null> {
    const reported = [...this.stopped];
    const answer = await this.coordinator
      .heartbeat(this.key, this.memberId, {
        memberEpoch: this.memberEpoch,
        metadataVersion: this.metadataVersion,
        ownedShards: [...this.reading].map((shardIndex) => ({ shardIndex })),
        revokingShards: reported.map((shardIndex) => ({
          ...{ shard: { shardIndex }, state: 'REVOKED', inFlight: 0, ackedAt: Date.now() },
        })),
        shardProgress: [],
      })
      .catch(() => null);
    if (answer?.status !== 200) return null;
    const told = answerOf(answer);
    if (losesAnswer) return told;
    if (told.status !== 'RETRY') this.statuses.push(told.status);
    this.follow(told, reported);
    return told;
  }

  /** The statuses without repetitions in a row, from the first of `from` on. */
  course(from = 0): readonly HeartbeatStatus[] {
    return this.statuses.slice(from).filter((status, index, all) => status !== all[index - 1]);
  }

  private follow(answer: HeartbeatAnswer, reported: readonly number[]): void {
    const { status, memberEpoch, metadataVersion, assignment } = answer;
    if (status === 'UNKNOWN_MEMBER_ID' || status === 'FENCED_MEMBER_EPOCH') {
      this.reading.clear();
      this.stopped.clear();
      this.memberEpoch = 0;
      this.metadataVersion = 0;
      return;
    }
    if (status !== 'OK' && status !== 'SYNC_METADATA' && status !== 'REVOKE_PENDING') return;
    this.memberEpoch = memberEpoch;
    this.metadataVersion = metadataVersion;
    for (const shard of reported) this.stopped.delete(shard);
    const assigned = new Set(assignment.assignedShards.map(({ shardIndex }) => shardIndex));
    for (const shard of [...this.reading].filter((index) => !assigned.has(index))) {
      this.reading.delete(shard);
      this.stopped.add(shard);
    }
    if (status === 'OK') for (const shard of assigned) this.reading.add(shard);
  }
}

/** Shards that two of them read. There must be none. */
export function readTwice(clients: readonly BaseClient[]): readonly number[] {
  const all = clients.flatMap(({ reading }) => [...reading]);
  return all.filter((shard, index) => all.indexOf(shard) !== index);
}
