/** The critical section of a coordinator in this process, over a real Redis, without HTTP: for what only it decides. */
import { Redis } from 'ioredis';
import { fromDist } from './measure.mjs';

const { assembleSection } = await fromDist('critical-section/section-assembly.js');
const { sectionOptions } = await fromDist('critical-section/section-options.js');
const { RedisMetadataStore } = await fromDist('store/redis/redis-metadata-store.js');
const { RedisGroupIndex, RedisLoopStore } = await fromDist('store/redis/redis-group-index.js');
const { CoordinatorKeys } = await fromDist('store/redis/coordinator-keys.js');
const { RedisCommands } = await fromDist('redis/redis-commands.js');
const { RedisIdentity } = await fromDist('redis/redis-identity.js');
const { LuaRunner } = await fromDist('redis/lua-runner.js');
const { readLuaCatalog } = await fromDist('redis/lua-catalog.js');
const { FaultLog } = await fromDist('redis/fault-log.js');
const { clientOptions } = await fromDist('redis/client-options.js');
const { deriveLimits } = await fromDist('config/derived-limits.js');
const { DEFAULT_TIMING } = await fromDist('protocol/timing.js');
const { MIN_PROTOCOL_VERSION, MAX_PROTOCOL_VERSION } = await fromDist('protocol/versions.js');
const { onCreateGroup, onCompleteProvisioning } = await fromDist('domain/coordinator/on-admin.js');
const { onHeartbeat } = await fromDist('domain/coordinator/on-heartbeat.js');
const { groupState, memberShards } = await fromDist('domain/group/derived-state.js');

const MAX_SHARD_COUNT = 4_096;
const MAX_MEMBERS = 2_000;
const CONNECT_TIMEOUT_MS = 2_000;
const MAX_ROUNDS = 100;
const DUE_GROUPS = 0;
const PROTOCOL = { min: MIN_PROTOCOL_VERSION, max: MAX_PROTOCOL_VERSION };

/** With the defaults of a coordinator, its passes of the event loop included (without them nothing is granted). */
export async function startSection(redis) {
  const limits = deriveLimits({ lockTtlMs: DEFAULT_TIMING.lockTtlMs, maxShardCount: MAX_SHARD_COUNT });
  const client = new Redis(
    redis.url,
    clientOptions({
      clientName: 'bench',
      commandTimeoutMs: limits.redisCommandTimeoutMs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    }),
  );
  await new Promise((resolve) => client.once('ready', resolve));
  const commands = new RedisCommands(client, new FaultLog({ warn: console.error }));
  const lua = new LuaRunner(commands, readLuaCatalog());
  const keys = new CoordinatorKeys(redis.keyPrefix);
  const identity = new RedisIdentity(client, commands);
  const assembly = assembleSection({
    store: new RedisMetadataStore(lua, commands, keys, identity),
    index: new RedisGroupIndex(lua, commands, keys),
    notices: { onNotice: () => () => undefined },
    options: sectionOptions({
      timing: DEFAULT_TIMING,
      maxMembers: MAX_MEMBERS,
      sectionBudgetMs: limits.sectionBudgetMs,
    }),
  });
  const stopPassing = await startPassing(
    new RedisLoopStore(lua, commands, keys, identity),
    assembly.loopView,
  );
  return {
    section: assembly.section,
    keys,
    stop: () => {
      stopPassing();
      client.disconnect();
    },
  };
}

async function startPassing(loopStore, loopView) {
  const pass = async () => {
    const ticket = loopView.beginPass();
    const { memberLeaseTtlMs: leaseTtlMs } = DEFAULT_TIMING;
    const { outageAfterMs } = loopView;
    const request = {
      coordinatorId: 'bench',
      outageAfterMs,
      leaseTtlMs,
      clockJumped: false,
      hasPassed: false,
      limit: DUE_GROUPS,
    };
    loopView.recordPass(ticket, await loopStore.pass(request));
  };
  await pass();
  const timer = setInterval(() => void pass(), DEFAULT_TIMING.tickIntervalMs);
  return () => clearInterval(timer);
}

/** A group with every shard read by one of its members. Resolves to the members. */
export async function groupAtRest({ section }, key, { memberCount, shardCount }) {
  const group = { key, incarnation: 'bench', shardCount, grantsFromMs: null };
  await section.run(key, onCreateGroup(group));
  await section.run(key, onCompleteProvisioning());
  const members = Array.from({ length: memberCount }, (_unused, index) => ({
    memberId: `orders-consumer-${String(index).padStart(4, '0')}-pod.svc`,
    memberEpoch: 0,
    metadataVersion: 0,
    shards: { assigned: [], revoking: [] },
  }));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const states = await Promise.all(members.map((member) => beatOnce(section, key, member)));
    if (states.every((metadata) => groupState(metadata) === 'STABLE')) return members;
  }
  throw new Error(`the group is not STABLE after ${MAX_ROUNDS} rounds of heartbeats`);
}

async function beatOnce(section, key, member) {
  const { reply, state } = await section.run(key, heartbeatCommand(member, { counter: 0 }));
  if (reply.status !== 'OK') throw new Error(`${member.memberId}: ${reply.status ?? reply.code}`);
  member.memberEpoch = reply.memberEpoch;
  member.metadataVersion = reply.metadataVersion;
  member.shards = memberShards(state.metadata, member.memberId);
  return state.metadata;
}

export function heartbeatCommand(member, { counter, maxConcurrency = 4 }) {
  const isJoin = member.memberEpoch === 0;
  const { assigned, revoking } = member.shards;
  const request = {
    requestId: String(counter),
    protocolVersion: 1,
    memberId: member.memberId,
    memberName: 'bench',
    memberEpoch: member.memberEpoch,
    metadataVersion: member.metadataVersion,
    maxObservedVersion: null,
    instanceId: null,
    previousEpoch: null,
    maxConcurrency,
    availableConcurrency: 3,
    owned: isJoin ? null : new Set(assigned),
    revoking: isJoin ? null : new Map(revoking.map((shard) => [shard, { state: 'REVOKED', inFlight: 0 }])),
    progress: assigned.map((shardIndex) => ({
      shard: { shardIndex },
      streamKey: `orders:${shardIndex}`,
      lastDeliveredId: `1760000000000-${counter}`,
      lastAckedId: `1760000000000-${counter}`,
      pendingCount: 0,
      updatedAt: null,
    })),
  };
  return onHeartbeat(request, PROTOCOL);
}
