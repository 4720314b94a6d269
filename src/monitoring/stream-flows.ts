import { Injectable } from '@nestjs/common';
import type { GroupMetadata } from '../domain/group/group-metadata';
import { type ShardFlow, stallAfterMs } from '../domain/group/shard-wait';
import type { ShardIndex } from '../domain/ids';
import { streamKey } from '../domain/routing/shard-keys';
import type { CoordinationTiming, EpochMillis } from '../domain/time';
import type { PipelineReply, RedisCommandLine } from '../redis/redis-commands';
import { RedisConnections } from '../redis/redis-connections';
import { RedisFaultError } from '../redis/redis-fault';
import { consumersIdleMs, entryTimeMs, firstEntryId, groupInfo, type GroupInfo } from './stream-replies';

/** Commands sent before their answers are awaited: Redis serves others in between. */
const PIPELINE_COMMANDS = 256;
/** Shards of one explanation whose oldest waiting entry is looked for; an entry may be large. */
const MAX_OLDEST_ENTRIES = 256;
const OPERATION = 'explain streams';

export interface FlowQuestion {
  readonly metadata: Pick<GroupMetadata, 'streamPrefix' | 'consumerGroup' | 'shards'>;
  readonly nowMs: EpochMillis;
  readonly timing: Pick<CoordinationTiming, 'rebalanceTimeoutMs'>;
  /** When the owner says that a shard last moved. */
  readonly movedAtMs: ReadonlyMap<ShardIndex, EpochMillis>;
}

interface SeenShard {
  readonly index: ShardIndex;
  readonly info: GroupInfo;
  readonly lastMoveMs: EpochMillis | null;
}

/** How the entries of a group's shards move. Reads only, and never more than it takes to tell a stall. */
@Injectable()
export class StreamFlows {
  constructor(private readonly connections: RedisConnections) {}

  /** Shards that Redis cannot or will not tell of (no stream, no permission, no connection) are missing. */
  async read(question: FlowQuestion): Promise<ReadonlyMap<ShardIndex, ShardFlow>> {
    const seen = await this.lookAtGroups(question);
    const oldest = await this.oldestWaiting(question, seen);
    return new Map(
      seen.map(({ index, info, lastMoveMs }) => [
        index,
        {
          lag: info.lag,
          pendingCount: info.pendingCount,
          lastMoveMs,
          oldestWaitingMs: oldest.get(index) ?? null,
        },
      ]),
    );
  }

  private async lookAtGroups({ metadata, nowMs, movedAtMs }: FlowQuestion): Promise<readonly SeenShard[]> {
    const { streamPrefix, consumerGroup, shards } = metadata;
    const lines = shards.flatMap((_shard, index): RedisCommandLine[] => {
      const key = streamKey(streamPrefix, index);
      return [
        ['XINFO', 'GROUPS', key],
        ['XINFO', 'CONSUMERS', key, consumerGroup],
      ];
    });
    const replies = await this.ask(lines);
    return shards.flatMap((_shard, position): SeenShard[] => {
      const index = position as ShardIndex;
      const info = groupInfo(valueOf(replies[2 * position]), consumerGroup);
      const idleMs = consumersIdleMs(valueOf(replies[2 * position + 1]));
      if (info === null || idleMs === 'UNKNOWN') return [];
      const moves = [movedAtMs.get(index) ?? null, idleMs === null ? null : nowMs - idleMs];
      const known = moves.filter((move) => move !== null);
      return [{ index, info, lastMoveMs: known.length === 0 ? null : (Math.max(...known) as EpochMillis) }];
    });
  }

  /** Only where it decides: nothing is pending, something may wait, and nothing has moved for long. */
  private async oldestWaiting(
    { metadata, nowMs, timing }: FlowQuestion,
    seen: readonly SeenShard[],
  ): Promise<ReadonlyMap<ShardIndex, EpochMillis>> {
    const standsSince = nowMs - stallAfterMs(timing);
    const asked = seen
      .filter(
        ({ info, lastMoveMs }) =>
          info.pendingCount === 0 && info.lag !== 0 && (lastMoveMs ?? 0) <= standsSince,
      )
      .slice(0, MAX_OLDEST_ENTRIES);
    const replies = await this.ask(
      asked.map(({ index, info }) => {
        const key = streamKey(metadata.streamPrefix, index);
        return ['XRANGE', key, `(${info.lastDeliveredId}`, '+', 'COUNT', 1];
      }),
    );
    const oldest = new Map<ShardIndex, EpochMillis>();
    for (const [position, { index }] of asked.entries()) {
      const cameInMs = entryTimeMs(firstEntryId(valueOf(replies[position])));
      if (cameInMs !== null) oldest.set(index, cameInMs);
    }
    return oldest;
  }

  /** What could not be asked is answered by nothing. */
  private async ask(lines: readonly RedisCommandLine[]): Promise<readonly (PipelineReply | undefined)[]> {
    const replies: PipelineReply[] = [];
    for (let first = 0; first < lines.length; first += PIPELINE_COMMANDS) {
      const part = lines.slice(first, first + PIPELINE_COMMANDS);
      try {
        replies.push(...(await this.connections.commands.pipeline(OPERATION, part)));
      } catch (error) {
        if (!(error instanceof RedisFaultError)) throw error;
        return replies;
      }
    }
    return replies;
  }
}

function valueOf(reply: PipelineReply | undefined): unknown {
  return reply !== undefined && 'value' in reply ? reply.value : null;
}
