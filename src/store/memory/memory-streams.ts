import type { ConsumerGroup, GroupKey, StreamPrefix } from '../../domain/ids';
import { streamKey } from '../../domain/routing/shard-keys';
import type { NextStreamRecord, StreamRecord, StreamRegistry } from '../group-index';
import type { NoticeBus } from '../notice-bus';
import type { StreamProvisioner } from '../stream-provisioner';
import { withEntry, type MemoryNode } from './memory-node';

export class MemoryStreamRegistry implements StreamRegistry {
  constructor(private readonly node: MemoryNode) {}

  async load(streamPrefix: string): Promise<StreamRecord | null> {
    return this.node.records.get(streamPrefix) ?? null;
  }

  async save(streamPrefix: string, base: number | null, next: NextStreamRecord): Promise<boolean> {
    const { node } = this;
    if ((node.records.get(streamPrefix)?.revision ?? null) !== base) return false;
    // From the clock: a record that is removed and made again never repeats a revision.
    const revision = Math.max((base ?? 0) + 1, node.now());
    const formerLives = new Map(next.formerLives);
    const record = {
      revision,
      shardCount: next.shardCount,
      consumerGroups: [...next.consumerGroups],
      formerLives,
    };
    const isEmpty = next.consumerGroups.length === 0 && formerLives.size === 0;
    node.records = withEntry(node.records, streamPrefix, isEmpty ? null : record);
    return true;
  }
}

export class MemoryStreamProvisioner implements StreamProvisioner {
  constructor(private readonly node: MemoryNode) {}

  async provision(
    streamPrefix: StreamPrefix,
    shardCount: number,
    consumerGroup: ConsumerGroup,
  ): Promise<void> {
    const streams = new Map(this.node.streams);
    for (let index = 0; index < shardCount; index += 1) {
      const key = streamKey(streamPrefix, index);
      streams.set(key, new Set([...(streams.get(key) ?? []), consumerGroup]));
    }
    this.node.streams = streams;
  }

  async purge(streamPrefix: StreamPrefix, shardCount: number): Promise<void> {
    const streams = new Map(this.node.streams);
    for (let index = 0; index < shardCount; index += 1) streams.delete(streamKey(streamPrefix, index));
    this.node.streams = streams;
  }
}

export class MemoryNoticeBus implements NoticeBus {
  constructor(private readonly node: MemoryNode) {}

  onNotice(listener: (key: GroupKey) => void): () => void {
    return this.node.subscribe(listener);
  }
}
