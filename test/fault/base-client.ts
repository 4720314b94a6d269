import type { GroupKey } from '../../src/domain/ids';
import type { HeartbeatAnswer, HeartbeatStatus } from '../../src/protocol';
import { answerOf, type CoordinatorProcess } from '../support/coordinator-process';
import { BaseMember } from './base-member';

/** A member with base fields only, that talks to one coordinator. */
export class BaseClient {
  /** Of each answer that it got, in order, but for RETRY. */
  readonly statuses: HeartbeatStatus[] = [];
  private readonly member: BaseMember;

  constructor(
    private readonly coordinator: CoordinatorProcess,
    private readonly key: GroupKey,
    memberId: string,
  ) {
    this.member = new BaseMember(memberId);
  }

  get reading(): ReadonlySet<number> {
    return this.member.reading;
  }

  get metadataVersion(): number {
    return this.member.metadataVersion;
  }

  /** One heartbeat. null: it was not answered with 200. `losesAnswer`: the member never learns of the answer. */
  async beat({ losesAnswer = false } = {}): Promise<HeartbeatAnswer | null> {
    const report = this.member.report();
    const answer = await this.coordinator
      .heartbeat(this.key, this.member.memberId, { ...report.body })
      .catch(() => null);
    if (answer?.status !== 200) return null;
    const told = answerOf(answer);
    if (losesAnswer) return told;
    if (told.status !== 'RETRY') this.statuses.push(told.status);
    this.member.follow(told, report);
    return told;
  }

  /** The statuses without repetitions in a row, from the first of `from` on. */
  course(from = 0): readonly HeartbeatStatus[] {
    return this.statuses.slice(from).filter((status, index, all) => status !== all[index - 1]);
  }
}

/** Shards that two of them read. There must be none. */
export function readTwice(clients: readonly BaseClient[]): readonly number[] {
  const all = clients.flatMap(({ reading }) => [...reading]);
  return all.filter((shard, index) => all.indexOf(shard) !== index);
}
