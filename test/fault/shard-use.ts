import type { ConsumerLine } from '../support/consumer-process';

/** A time in which a member used a shard: from its grant to the moment at which nothing of it ran any more. */
export interface ShardUse {
  readonly memberId: string;
  readonly shard: number;
  readonly fromMs: number;
  /** Infinity: to the end of the log. */
  readonly toMs: number;
}

interface OpenUse {
  readonly fromMs: number;
  lastWorkMs: number;
}

/** What the logs of consumers, which have one clock, say of who used which shard when. */
export function shardUses(lines: readonly ConsumerLine[]): readonly ShardUse[] {
  const open = new Map<string, OpenUse>();
  const uses: ShardUse[] = [];
  for (const { what, atMs, shard, memberId, reason } of lines) {
    if (shard === undefined || memberId === undefined) continue;
    const name = `${memberId} ${shard}`;
    const use = open.get(name);
    if (what === 'assigned' && use === undefined) open.set(name, { fromMs: atMs, lastWorkMs: atMs });
    if (use === undefined) continue;
    if (what === 'started' || what === 'handled') use.lastWorkMs = atMs;
    if (what !== 'revoked') continue;
    open.delete(name);
    // A process that had no processor notices late that its lease is over: then it has done nothing since.
    const toMs = reason === 'LEASE_OVER' ? use.lastWorkMs : atMs;
    uses.push({ memberId, shard, fromMs: use.fromMs, toMs });
  }
  for (const [name, { fromMs }] of open) {
    const [memberId = '', shard] = name.split(' ');
    uses.push({ memberId, shard: Number(shard), fromMs, toMs: Infinity });
  }
  return uses;
}

/** Pairs of uses of one shard by two members at one time. There must be none. */
export function sharedUses(lines: readonly ConsumerLine[]): readonly (readonly [ShardUse, ShardUse])[] {
  const uses = shardUses(lines);
  return uses.flatMap((one, index) =>
    uses
      .slice(index + 1)
      .filter(
        (other) =>
          other.shard === one.shard &&
          other.memberId !== one.memberId &&
          one.fromMs < other.toMs &&
          other.fromMs < one.toMs,
      )
      .map((other) => [one, other] as const),
  );
}

/** Entries that were handled by a member outside of its uses of their shards. There must be none. */
export function strayWork(lines: readonly ConsumerLine[]): readonly ConsumerLine[] {
  const uses = shardUses(lines);
  return lines.filter(
    ({ what, atMs, shard, memberId }) =>
      (what === 'started' || what === 'handled') &&
      !uses.some(
        (use) => use.shard === shard && use.memberId === memberId && use.fromMs <= atMs && atMs <= use.toMs,
      ),
  );
}

/** Entries that were begun under a smaller fencing token than one before in the same shard. There must be none. */
export function tokensGoneBack(lines: readonly ConsumerLine[]): readonly ConsumerLine[] {
  const highest = new Map<number, number>();
  const started = lines.filter(({ what }) => what === 'started').toSorted((a, b) => a.atMs - b.atMs);
  return started.filter(({ shard = -1, fencingToken = 0 }) => {
    const before = highest.get(shard) ?? 0;
    highest.set(shard, Math.max(before, fencingToken));
    return fencingToken < before;
  });
}
