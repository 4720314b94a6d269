import { groupKeyText, parseGroupKeyText, type GroupKey } from '../../domain/ids';
import { epochMillis, type EpochMillis } from '../../domain/time';
import type { GroupIndex, LoopPass, LoopStore } from '../group-index';
import { pageOf, type IndexPage } from '../index-page';
import { withEntry, type MemoryLoop, type MemoryNode } from './memory-node';

export class MemoryGroupIndex implements GroupIndex {
  constructor(private readonly node: MemoryNode) {}

  async bringForward(key: GroupKey, dueMs: EpochMillis): Promise<void> {
    const current = this.node.index.get(groupKeyText(key));
    if (current === undefined || dueMs < current) this.set(groupKeyText(key), dueMs);
  }

  async postpone(key: GroupKey, seenDueMs: EpochMillis, dueMs: EpochMillis): Promise<void> {
    const current = this.node.index.get(groupKeyText(key));
    if (current === undefined || current >= seenDueMs) this.set(groupKeyText(key), dueMs);
  }

  async remove(key: GroupKey): Promise<void> {
    this.node.index = withEntry(this.node.index, groupKeyText(key), null);
  }

  async list(cursor: string | null, limit: number): Promise<IndexPage> {
    return pageOf([...this.node.index.keys()], cursor, limit);
  }

  async repair(): Promise<number> {
    const missing = [...this.node.groups.keys()].filter((text) => !this.node.index.has(text));
    for (const text of missing) this.set(text, 0);
    return missing.length;
  }

  private set(text: string, dueMs: number): void {
    this.node.index = withEntry(this.node.index, text, dueMs);
  }
}

export class MemoryLoopStore implements LoopStore {
  constructor(private readonly node: MemoryNode) {}

  async pass(request: Parameters<LoopStore['pass']>[0]): Promise<LoopPass> {
    const { node } = this;
    const redisNowMs = node.now();
    const last = node.loop;
    const hadOutage =
      last === null || last.lastPassMs > redisNowMs || redisNowMs - last.lastPassMs > request.outageAfterMs;
    const isOtherRedis = last !== null && last.redisId !== node.redisId;
    const isLoss = isOtherRedis || (last === null && request.hasPassed);
    const isQuietFromNow = hadOutage || request.clockJumped || isOtherRedis;
    node.loop = {
      lastPassMs: redisNowMs,
      coordinatorId: request.coordinatorId,
      quietCausedAtMs: isQuietFromNow ? redisNowMs : last.quietCausedAtMs,
      quietUntilMs: isQuietFromNow ? redisNowMs + request.leaseTtlMs : last.quietUntilMs,
      redisId: node.redisId,
      lossUntilMs: isLoss ? redisNowMs + request.leaseTtlMs : (last?.lossUntilMs ?? null),
    };
    return { redisNowMs, quiet: quietPeriod(node.loop), due: this.due(redisNowMs, request.limit) };
  }

  async lossSeen(): ReturnType<LoopStore['lossSeen']> {
    const { loop } = this.node;
    const untilMs = loop?.lossUntilMs ?? null;
    return { isRecordMissing: loop === null, untilMs: untilMs === null ? null : epochMillis(untilMs) };
  }

  private due(redisNowMs: EpochMillis, limit: number): LoopPass['due'] {
    const entries = [...this.node.index].filter(([, dueMs]) => dueMs <= redisNowMs);
    entries.sort(([textA, dueA], [textB, dueB]) => dueA - dueB || (textA < textB ? -1 : 1));
    return entries.slice(0, limit).flatMap(([text, dueMs]) => {
      const key = parseGroupKeyText(text);
      return key === null ? [] : [{ key, dueMs: epochMillis(dueMs) }];
    });
  }
}

function quietPeriod({ quietCausedAtMs, quietUntilMs }: MemoryLoop): LoopPass['quiet'] {
  if (quietCausedAtMs === null || quietUntilMs === null) return null;
  return { causedAtMs: epochMillis(quietCausedAtMs), untilMs: epochMillis(quietUntilMs) };
}
