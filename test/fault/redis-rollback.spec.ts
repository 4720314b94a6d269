import { afterEach, describe, expect, it } from '@jest/globals';
import { memberStatesFrom, metricFrom } from '../support/coordinator-readings';
import { waitUntil } from '../support/redis-server';
import { groupKeyOf, storedGroup } from '../support/stored-group';
import { PATIENCE_MS } from './consumer-world';
import { ROLLBACK_TIMING, RollbackWorld, runIdOf, tenuresLost } from './rollback-world';
import { sharedUses, strayWork, tokensGoneBack } from './shard-use';

const { leaseTtlMs } = ROLLBACK_TIMING;
const SHARDS = 6;
/** Loads the dump that SAVE wrote at its start, and keeps nothing else: what was answered since is lost. */
const DUMP_ONLY = {};
const DURABLE = { appendOnly: true };
const REGRESSIONS = 'redis_stream_coord_metadata_regressions_total{cause="REDIS_ID"}';
const GO_ON_FOR = 50;

describe('consumers and a publisher whose Redis', () => {
  let world: RollbackWorld;
  afterEach(() => world.stop());

  const twoAtWork = async (options: object) => {
    world = await RollbackWorld.start(options, SHARDS);
    world.traffic.start();
    const first = await world.join('first');
    const second = await world.join('second');
    await world.untilBalanced();
    await world.traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);
    return [first, second] as const;
  };

  const expectOneUserPerShard = (): void => {
    const { lines } = world;
    expect(sharedUses(lines)).toEqual([]);
    expect(strayWork(lines)).toEqual([]);
    expect(tokensGoneBack(lines)).toEqual([]);
  };

  const expectPublishedThrough = (fromMs: number, toMs: number): void => {
    const { traffic } = world;
    expect(traffic.publishedSince(fromMs).filter(({ endedMs }) => endedMs <= toMs).length).toBeGreaterThan(0);
    expect(traffic.unexplained).toEqual([]);
  };

  it('goes back to before a join: one user per shard at any time, a round, and the third joins again', async () => {
    const [first, second] = await twoAtWork(DUMP_ONLY);
    await world.redis.cli('SAVE');
    const formerRun = await runIdOf(world.redis);

    const third = await world.join('third');
    await world.untilBalanced();
    const share = SHARDS / 3;
    await third.until(
      'is at work on its share',
      () => third.lines('assigned').length === share && third.lines('handled').length >= GO_ON_FOR / 5,
      PATIENCE_MS,
    );
    const lostTokens = third.lines('assigned').map(({ fencingToken }) => fencingToken!);

    const { killedMs, servedMs } = await world.restartRedis();
    expect(await runIdOf(world.redis)).not.toBe(formerRun);
    await third.until('is told that nobody knows it', () => tenuresLost(third).length > 0, PATIENCE_MS);
    const rounds = await world.untilCorrected([first, second, third], killedMs);
    await world.untilBalanced();
    await third.until('is told', () => third.lines('assigned').length === 2 * share, PATIENCE_MS);
    await world.traffic.untilPublished(GO_ON_FOR, PATIENCE_MS);
    await world.untilAllHandledSince(servedMs);

    expect(tenuresLost(third).map(({ what, status }) => [what, status])).toEqual([
      ['fenced', 'UNKNOWN_MEMBER_ID'],
    ]);
    expect([...tenuresLost(first), ...tenuresLost(second)]).toEqual([]);
    // Nobody was given anything before the round was over.
    const lastRoundEndMs = Math.min(...rounds.map(({ endedMs }) => endedMs));
    const given = world.lines.filter(({ what, atMs }) => what === 'assigned' && atMs >= killedMs);
    expect(given.filter(({ atMs }) => atMs < killedMs + leaseTtlMs)).toEqual([]);
    for (const { fencingToken } of given) expect(fencingToken).toBeGreaterThan(Math.max(...lostTokens));
    expectOneUserPerShard();
    expectPublishedThrough(servedMs, lastRoundEndMs);
    expect(await metricFrom(world.coordinator, REGRESSIONS)).toBeGreaterThanOrEqual(1);
  });

  it('loses nothing but lease renewals: nobody is expired by mistake', async () => {
    const [first, second] = await twoAtWork(DUMP_ONLY);
    const before = await memberStatesFrom(world.coordinator, world.key);
    await world.redis.cli('SAVE');
    const key = groupKeyOf(world.key.streamPrefix, world.key.consumerGroup);
    const saved = await storedGroup(world.redis, key);
    if (saved?.kind !== 'READ') throw new Error('the group is not whole');
    // Renewed up to here at the most: what the dump says is over when it is loaded.
    const savedEndMs = Math.max(...saved.leases.values());
    await waitUntil('the saved leases are over', 2 * leaseTtlMs, () => Date.now() > savedEndMs);

    const { killedMs, servedMs } = await world.restartRedis();
    expect(servedMs - killedMs).toBeLessThan(leaseTtlMs - ROLLBACK_TIMING.heartbeatIntervalMs);
    await world.untilCorrected([first, second], killedMs);
    await world.untilBalanced();
    await world.untilAllHandledSince(servedMs);

    expect([...tenuresLost(first), ...tenuresLost(second)]).toEqual([]);
    expect(await memberStatesFrom(world.coordinator, world.key)).toEqual(before);
    expect(world.lines.filter(({ what }) => what === 'assigned')).toHaveLength(uses());
    expectOneUserPerShard();
  });

  /** Grants: all shards to the first, half of them to the second. */
  const uses = (): number => SHARDS + SHARDS / 2;

  it('restarts with all its data: a round in which nobody stops reading, and OK after one lease', async () => {
    const [first, second] = await twoAtWork(DURABLE);
    const formerRun = await runIdOf(world.redis);
    const { killedMs, servedMs } = await world.restartRedis();
    expect(await runIdOf(world.redis)).not.toBe(formerRun);
    const rounds = await world.untilCorrected([first, second], killedMs);
    await world.untilBalanced();
    await world.untilAllHandledSince(0);

    for (const { startedMs, endedMs } of rounds) {
      expect(endedMs - killedMs).toBeGreaterThanOrEqual(leaseTtlMs);
      expect(endedMs - startedMs).toBeLessThan(2 * leaseTtlMs);
    }
    expect(world.lines.filter(({ what, atMs }) => what === 'revoked' && atMs >= killedMs)).toEqual([]);
    expect([...tenuresLost(first), ...tenuresLost(second)]).toEqual([]);
    // Every shard was read while the round was on.
    const startedMs = Math.max(...rounds.map((round) => round.startedMs));
    const endedMs = Math.min(...rounds.map((round) => round.endedMs));
    const readInRound = world.lines.filter(
      ({ what, atMs }) => what === 'handled' && atMs > startedMs && atMs < endedMs,
    );
    expect(new Set(readInRound.map(({ shard }) => shard)).size).toBe(SHARDS);
    expectOneUserPerShard();
    expectPublishedThrough(servedMs, endedMs);
  });
});
