import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { deadLetterKey, streamKey } from '../../domain/routing/shard-keys';
import { DEFAULT_TIMING } from '../../protocol';
import { CoordinatorClient } from '../coordinator-client';
import { ClientClosedError, RedisUnavailableError } from '../errors';
import { GroupCommands } from '../redis/group-commands';
import { GroupReads } from '../redis/group-reads';
import { RedisLink } from '../redis/redis-link';
import { probeForConsumer } from '../redis/redis-probe';
import { VersionKeeper } from '../versions/version-keeper';
import { systemClock } from './clock';
import type { Clock } from './clock';
import { ConsumerStartError, HandlersStillRunningError } from './consumer-errors';
import type { ConsumerEvents } from './consumer-events';
import { NO_METRICS } from './consumer-metrics';
import type { ConsumerMetrics, ConsumerReadings } from './consumer-metrics';
import { checkConsumerOptions, handlingOf } from './consumer-options';
import type { CheckedNames, StreamConsumerOptions } from './consumer-options';
import type { CoordinatorPort } from './coordinator-port';
import { CorrectionWatch } from './correction-watch';
import { FaultReport } from './fault-report';
import { MemberRuntime } from './member-runtime';
import type { MemberListener } from './member-runtime';
import { RegistryMetrics } from './registry-metrics';

const COMMAND_TIMEOUT_MS = 3_000;
/** Above the longest block time with its margin: a read is cut off by its reader, not by this. */
const BLOCKING_TIMEOUT_MS = 10_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 2_000;
const DEFAULT_START_TIMEOUT_MS = 30_000;
const GROUP_MISSING_INTERVAL_MS = 10_000;
const TOO_LATE = Symbol('too late');
const START_CLEANUP_MS = 1_000;

/**
 * Reads the shards that the coordinator grants to this process, and hands their entries to a handler: at least once, in order
 * within a shard. States: new, starting, running, stopping, stopped. `stop` is for good.
 */
export class StreamConsumer extends EventEmitter<ConsumerEvents> {
  private readonly names: CheckedNames;
  private readonly clock: Clock;
  private readonly faults: FaultReport;
  private readonly metrics: ConsumerMetrics;
  private readonly corrections: CorrectionWatch;
  private readonly versions: VersionKeeper;
  private readonly ownClient: CoordinatorClient | null;
  private readonly coordinator: CoordinatorPort;
  private commandLink: RedisLink | null = null;
  private members: readonly MemberRuntime[] = [];
  private lastTrouble: Error | null = null;
  private state: 'NEW' | 'STARTING' | 'RUNNING' | 'STOPPING' = 'NEW';
  private stopping: Promise<void> | null = null;

  /** Throws InvalidOptionsError with all faults. Connects to nothing. */
  constructor(private readonly options: StreamConsumerOptions) {
    super();
    this.names = checkConsumerOptions(options);
    const { streamPrefix, consumerGroup } = this.names;
    this.clock = options.clock ?? systemClock;
    this.faults = new FaultReport(this.clock, (error) => this.tellTrouble(error));
    this.metrics =
      options.metricsRegistry === undefined
        ? NO_METRICS
        : new RegistryMetrics(options.metricsRegistry, streamPrefix, consumerGroup, this.readings());
    this.corrections = new CorrectionWatch(this.metrics, (state, metadataVersion) => {
      this.tell('correction', { state, metadataVersion });
    });
    this.versions = new VersionKeeper({
      ...{ streamPrefix, consumerGroup, clock: this.clock, store: options.versionStore ?? null },
      onFault: (error) => {
        this.metrics.versionStoreFault(error.operation);
        this.faults.report(`VERSION STORE ${error.operation}`, error);
      },
    });
    this.ownClient =
      options.coordinator === undefined
        ? new CoordinatorClient({ coordinatorUrl: options.coordinatorUrl ?? '' })
        : null;
    this.coordinator = options.coordinator ?? (this.ownClient as CoordinatorPort);
  }

  /** Shards that are read now. */
  get ownedShards(): readonly number[] {
    return this.members.flatMap((member) => member.ownedShards);
  }

  /**
   * Resolves once every logical member has joined. Rejects, with everything closed again: UnsupportedRedisError (server
   * version, mode, permissions), RedisUnavailableError, GroupNotFoundError, ProtocolRefusedError,
   * ConsumerStartError (no answer in time, or no shard to read now or later).
   */
  async start(): Promise<void> {
    if (this.state !== 'NEW') throw new ClientClosedError('the consumer (it can be started once)');
    this.state = 'STARTING';
    try {
      const [link] = await Promise.all([this.openCommandLink(), this.versions.load()]);
      this.members = await this.openMembers(new GroupCommands(link, this.names.consumerGroup));
      for (const member of this.members) member.start();
      await this.untilJoined();
      this.state = 'RUNNING';
    } catch (error) {
      // A leave that nobody answers is given up in time; nobody has to wait for that to learn of the error.
      await this.atMost(START_CLEANUP_MS, this.stop());
      throw error;
    }
  }

  /**
   * Drains every shard, leaves the group, closes the connections. Resolves when nothing is in flight; bounded by the drain
   * deadline and the lease, whatever the coordinator and Redis do. A handler that ignores its abort signal until then is left
   * behind, with an HandlersStillRunningError as event.
   */
  async stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    await this.stopping;
  }

  private readings(): ConsumerReadings {
    return {
      ownedShards: () => this.ownedShards.length,
      revokingShards: () => this.members.reduce((sum, member) => sum + member.drainingShardCount, 0),
      correctingMembers: () => this.corrections.memberCount,
      leaseRemainingMs: () =>
        extremeOf(
          Math.min,
          this.members.map((member) => member.leaseRemainingMs),
        ),
      heartbeatAgeMs: () =>
        extremeOf(
          Math.max,
          this.members.flatMap(({ heartbeatAgeMs }) => heartbeatAgeMs ?? []),
        ),
    };
  }

  private async stopOnce(): Promise<void> {
    this.state = 'STOPPING';
    const areIdle = await Promise.all(this.members.map(async (member) => member.stop()));
    if (areIdle.includes(false)) this.tellTrouble(new HandlersStillRunningError());
    await this.versions.close();
    await this.commandLink?.closeGracefully();
    await this.ownClient?.close();
    this.metrics.close();
  }

  private async openCommandLink(): Promise<RedisLink> {
    const { streamPrefix } = this.names;
    const link = this.createLink('COMMANDS', COMMAND_TIMEOUT_MS);
    this.commandLink = link;
    await connected(link);
    await probeForConsumer(link.client, {
      streamKey: streamKey(streamPrefix, 0),
      deadLetterKey: deadLetterKey(streamPrefix, 0),
    });
    return link;
  }

  private createLink(role: 'COMMANDS' | 'BLOCKING', commandTimeoutMs: number): RedisLink {
    return new RedisLink(this.options.redis, { role, commandTimeoutMs, leavesReplicas: true }, (error) => {
      this.faults.report(`CONNECTION ${role}`, error);
    });
  }

  private async openMembers(commands: GroupCommands): Promise<MemberRuntime[]> {
    const members: MemberRuntime[] = [];
    for (const memberId of this.names.memberIds) {
      const link = this.createLink('BLOCKING', BLOCKING_TIMEOUT_MS);
      const reads = new GroupReads(link, this.names.consumerGroup);
      const member = this.createMember(memberId, commands, reads);
      members.push(member);
      this.members = members; // so that a failed start closes those that are open
      await connected(link);
    }
    return members;
  }

  private createMember(memberId: string, commands: GroupCommands, reads: GroupReads): MemberRuntime {
    const { options, names, coordinator, clock, metrics, faults } = this;
    return new MemberRuntime({
      ...{ commands, reads, coordinator, clock, metrics, faults },
      streamPrefix: names.streamPrefix,
      consumerGroup: names.consumerGroup,
      session: {
        memberId,
        memberName: options.memberName ?? null,
        timing: { ...DEFAULT_TIMING, ...options.timing },
        longPoll: options.longPoll ?? true,
        highestVersion: this.versions.seen,
        newId: () => randomUUID(),
        random: options.random ?? Math.random,
      },
      requestTimeoutMs: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
      handling: handlingOf(options),
      listener: this.memberListener(),
    });
  }

  private async untilJoined(): Promise<void> {
    const limitMs = this.options.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
    const summaries = await this.within(limitMs, Promise.all(this.members.map(async ({ joined }) => joined)));
    if (summaries.some(({ assigned, pending }) => assigned + pending > 0)) return;
    const { streamPrefix, consumerGroup } = this.names;
    const routing = await this.coordinator.producerRouting(streamPrefix, consumerGroup);
    if (routing.shardCount > 0) return; // more members than shards: they stand by
    throw new ConsumerStartError(
      `stream ${streamPrefix} has no shards, and none are promised to this consumer`,
    );
  }

  private async within<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
    const value = await this.atMost(limitMs, work);
    if (value !== TOO_LATE) return value;
    const options = { cause: this.lastTrouble };
    throw new ConsumerStartError(`no coordinator let it join within ${limitMs} ms`, options);
  }

  private async atMost<Value>(limitMs: number, work: Promise<Value>): Promise<Value | typeof TOO_LATE> {
    let cancel: () => void = () => undefined;
    const limit = new Promise<typeof TOO_LATE>((resolve) => {
      cancel = this.clock.after(limitMs, () => resolve(TOO_LATE));
    });
    try {
      return await Promise.race([work, limit]);
    } finally {
      cancel();
    }
  }

  private tellTrouble(error: Error): void {
    this.lastTrouble = error;
    if (this.listenerCount('error') > 0) this.tell('error', error);
  }

  private memberListener(): MemberListener {
    let lastMissingMs = Number.NEGATIVE_INFINITY;
    return {
      onAssigned: (memberId, shard, fencingToken) => this.tell('assigned', { memberId, shard, fencingToken }),
      onRevoked: (memberId, shard, reason) => this.tell('revoked', { memberId, shard, reason }),
      onTenureLost: (memberId, memberEpoch, status) => {
        if (status === 'LEASE_OVER') this.tell('leaseLost', { memberId, memberEpoch });
        else if (status !== 'LEFT') this.tell('fenced', { memberId, memberEpoch, status });
      },
      onCorrectionStarted: (memberId, version) => this.corrections.started(memberId, version),
      onCorrectionEnded: (memberId, version) => this.corrections.ended(memberId, version),
      onGroupMissing: () => {
        const nowMs = this.clock.nowMs();
        if (nowMs - lastMissingMs < GROUP_MISSING_INTERVAL_MS) return;
        lastMissingMs = nowMs;
        this.tell('groupMissing', {
          streamPrefix: this.names.streamPrefix,
          consumerGroup: this.names.consumerGroup,
        });
      },
      onFatal: (error) => {
        if (this.state === 'STARTING') return; // start() rejects with it
        this.tell('error', error);
        this.stop().catch(() => undefined);
      },
    };
  }

  /** A listener that throws breaks no loop of ours: its error surfaces on its own. */
  private tell<Name extends keyof ConsumerEvents>(name: Name, ...details: ConsumerEvents[Name]): void {
    try {
      (this.emit as (name: Name, ...details: ConsumerEvents[Name]) => boolean).call(this, name, ...details);
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
    }
  }
}

function extremeOf(extreme: (...lengthsMs: number[]) => number, lengthsMs: readonly number[]): number | null {
  return lengthsMs.length === 0 ? null : extreme(...lengthsMs);
}

async function connected(link: RedisLink): Promise<void> {
  try {
    await link.connect();
  } catch (cause) {
    throw new RedisUnavailableError({ cause });
  }
}
