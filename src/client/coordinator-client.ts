import type {
  AssignmentsView,
  CompatibilityView,
  CreateBody,
  CreatedStream,
  CreateStreamBody,
  DeleteGroupBody,
  ExplainView,
  ExportedGroup,
  FenceMemberBody,
  GroupStateName,
  GroupsPage,
  GroupView,
  HealthView,
  HeartbeatAnswer,
  HeartbeatBody,
  MembersView,
  ProducerRouting,
  RepairedIndex,
  RepairIndexBody,
  RestoreGroupBody,
} from '../protocol';
import {
  checkAssignments,
  checkCompatibility,
  checkCreatedStream,
  checkExplain,
  checkExportedGroup,
  checkGroup,
  checkGroupsPage,
  checkHealth,
  checkHeartbeat,
  checkMembers,
  checkProducerRouting,
  checkRepairedIndex,
} from './answer-shape';
import { type AnswerCheck, CoordinatorHttp, DEFAULT_REQUEST_TIMEOUT_MS } from './coordinator-http';
import { InvalidOptionsError } from './errors';

export interface CoordinatorClientOptions {
  /** `http://host:8080`, or several coordinators of one Redis. The next one is tried on 503 and on a connection failure. */
  readonly coordinatorUrl: string | readonly string[];
  /** Milliseconds a call may take, repetitions included; a long poll gets its waiting time on top. Default 5,000. */
  readonly timeoutMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds, instead of the client's. Waiting time of a long poll included. */
  readonly timeoutMs?: number;
}

export interface RoutingQuery {
  /** The version of the routing that the caller has. */
  readonly metadataVersion?: number;
  /** The highest version that this process ever saw. */
  readonly maxObservedVersion?: number;
  /** Long poll: milliseconds to hold the answer until the routing differs from `metadataVersion`. */
  readonly waitMs?: number;
}

export interface GroupsQuery {
  readonly streamPrefix?: string;
  readonly state?: GroupStateName;
  readonly limit?: number;
  readonly cursor?: string;
}

export type VersionListener = (metadataVersion: number) => void;

/**
 * Typed calls for every endpoint of the coordinator. All throw CoordinatorRequestError (it answered, but not with what was
 * asked for), CoordinatorUnreachableError (no answer in time) or the reason of an aborted signal. Only GETs are repeated.
 */
export class CoordinatorClient {
  private readonly http: CoordinatorHttp;
  private readonly timeoutMs: number;
  private readonly versionListeners = new Map<string, Set<VersionListener>>();

  /** Throws InvalidOptionsError. */
  constructor(options: CoordinatorClientOptions) {
    this.timeoutMs = options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
    this.http = new CoordinatorHttp(options.coordinatorUrl, this.timeoutMs);
  }

  /** Creates a sharded stream with its first consumer group; every shard exists once this resolves. */
  async createStream(
    streamPrefix: string,
    body: CreateStreamBody,
    options?: CallOptions,
  ): Promise<CreatedStream> {
    const path = streamPath(streamPrefix);
    return (await this.http.call(
      { method: 'POST', path, body, ...options },
      checkCreatedStream,
    )) as CreatedStream;
  }

  async createGroup(
    streamPrefix: string,
    consumerGroup: string,
    body: CreateBody,
    options?: CallOptions,
  ): Promise<GroupView> {
    const path = groupPath(streamPrefix, consumerGroup);
    return (await this.http.call({ method: 'POST', path, body, ...options }, checkGroup)) as GroupView;
  }

  async group(streamPrefix: string, consumerGroup: string, options?: CallOptions): Promise<GroupView> {
    return this.get<GroupView>(groupPath(streamPrefix, consumerGroup), checkGroup, options);
  }

  /** The deleted group. */
  async deleteGroup(
    streamPrefix: string,
    consumerGroup: string,
    body: DeleteGroupBody,
    options?: CallOptions,
  ): Promise<GroupView> {
    const path = groupPath(streamPrefix, consumerGroup);
    return (await this.http.call({ method: 'DELETE', path, body, ...options }, checkGroup)) as GroupView;
  }

  /** Fences a member: its shards move once its recorded lease has ended. The group after it. */
  async fenceMember(
    streamPrefix: string,
    consumerGroup: string,
    memberId: string,
    body: FenceMemberBody,
    options?: CallOptions,
  ): Promise<GroupView> {
    const path = memberPath(streamPrefix, consumerGroup, memberId);
    return (await this.http.call({ method: 'DELETE', path, body, ...options }, checkGroup)) as GroupView;
  }

  /** All that is recorded of a group: keep it, to restore from. */
  async exportGroup(
    streamPrefix: string,
    consumerGroup: string,
    options?: CallOptions,
  ): Promise<ExportedGroup> {
    const path = `${groupPath(streamPrefix, consumerGroup)}/metadata`;
    return this.get<ExportedGroup>(path, checkExportedGroup, options);
  }

  /** Puts an export in the place of a group that is missing, unreadable or older. The group after it, in a correction round. */
  async restoreGroup(
    streamPrefix: string,
    consumerGroup: string,
    body: RestoreGroupBody,
    options?: CallOptions,
  ): Promise<GroupView> {
    const path = `${groupPath(streamPrefix, consumerGroup)}/metadata/restore`;
    return (await this.http.call({ method: 'POST', path, body, ...options }, checkGroup)) as GroupView;
  }

  /** Adds the groups to the index that are missing in it. */
  async repairIndex(body: RepairIndexBody, options?: CallOptions): Promise<RepairedIndex> {
    const call = { method: 'POST', path: '/index/repair', body, ...options } as const;
    return (await this.http.call(call, checkRepairedIndex)) as RepairedIndex;
  }

  /** Join, stay, leave. An answer to another request counts as malformed. */
  async heartbeat(
    streamPrefix: string,
    consumerGroup: string,
    memberId: string,
    body: HeartbeatBody,
    options?: CallOptions,
  ): Promise<HeartbeatAnswer> {
    const path = `${memberPath(streamPrefix, consumerGroup, memberId)}/heartbeat`;
    const check: AnswerCheck = (answer) => checkHeartbeat(answer) ?? answersRequest(answer, body);
    const timeoutMs = options?.timeoutMs ?? this.timeoutMs + (body.waitMs ?? 0);
    const call = { method: 'POST', path, body, ...options, timeoutMs } as const;
    const answer = (await this.http.call(call, check)) as HeartbeatAnswer;
    for (const listener of this.versionListeners.get(groupPath(streamPrefix, consumerGroup)) ?? []) {
      listener(answer.metadataVersion);
    }
    return answer;
  }

  /**
   * Tells the metadataVersion of every heartbeat answer of the group, until the returned function is called: a publisher that
   * shares the client with consumers learns of a change of its routing from them.
   */
  onVersion(streamPrefix: string, consumerGroup: string, listener: VersionListener): () => void {
    const path = groupPath(streamPrefix, consumerGroup);
    const listeners = this.versionListeners.get(path) ?? new Set();
    this.versionListeners.set(path, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.versionListeners.delete(path);
    };
  }

  async producerRouting(
    streamPrefix: string,
    consumerGroup: string,
    query: RoutingQuery = {},
    options?: CallOptions,
  ): Promise<ProducerRouting> {
    const path = `${groupPath(streamPrefix, consumerGroup)}/producer-routing`;
    const check: AnswerCheck = (answer) => checkProducerRouting(answer) ?? routesEveryShard(answer);
    const timeoutMs = options?.timeoutMs ?? this.timeoutMs + (query.waitMs ?? 0);
    const call = { method: 'GET', path, query: { ...query }, ...options, timeoutMs } as const;
    return (await this.http.call(call, check)) as ProducerRouting;
  }

  async health(options?: CallOptions): Promise<HealthView> {
    return this.get<HealthView>('/monitoring/health', checkHealth, options);
  }

  async compatibility(options?: CallOptions): Promise<CompatibilityView> {
    return this.get<CompatibilityView>('/monitoring/compatibility', checkCompatibility, options);
  }

  async groups(query: GroupsQuery = {}, options?: CallOptions): Promise<GroupsPage> {
    const call = { method: 'GET', path: '/monitoring/groups', query: { ...query }, ...options } as const;
    return (await this.http.call(call, checkGroupsPage)) as GroupsPage;
  }

  async monitoredGroup(
    streamPrefix: string,
    consumerGroup: string,
    options?: CallOptions,
  ): Promise<GroupView> {
    return this.get<GroupView>(`/monitoring${groupPath(streamPrefix, consumerGroup)}`, checkGroup, options);
  }

  /** Where each shard is, who waits for whom, until when and why. */
  async explain(streamPrefix: string, consumerGroup: string, options?: CallOptions): Promise<ExplainView> {
    const path = `/monitoring${groupPath(streamPrefix, consumerGroup)}/explain`;
    return this.get<ExplainView>(path, checkExplain, options);
  }

  async members(streamPrefix: string, consumerGroup: string, options?: CallOptions): Promise<MembersView> {
    const path = `/monitoring${groupPath(streamPrefix, consumerGroup)}/members`;
    return this.get<MembersView>(path, checkMembers, options);
  }

  async assignments(
    streamPrefix: string,
    consumerGroup: string,
    options?: CallOptions,
  ): Promise<AssignmentsView> {
    const path = `/monitoring${groupPath(streamPrefix, consumerGroup)}/assignments`;
    return this.get<AssignmentsView>(path, checkAssignments, options);
  }

  /** Ends all connections; calls under way fail. */
  async close(): Promise<void> {
    await this.http.close();
  }

  private async get<Answer>(path: string, check: AnswerCheck, options?: CallOptions): Promise<Answer> {
    return (await this.http.call({ method: 'GET', path, ...options }, check)) as Answer;
  }
}

/** A name as one segment of a path. `.` and `..` would be resolved away, however they are written. */
function segment(name: string): string {
  if (/^\.{0,2}$/.test(name))
    throw new InvalidOptionsError('a request', [`"${name}" cannot be a name in a path`]);
  return encodeURIComponent(name);
}

function streamPath(streamPrefix: string): string {
  return `/streams/${segment(streamPrefix)}`;
}

function groupPath(streamPrefix: string, consumerGroup: string): string {
  return `${streamPath(streamPrefix)}/groups/${segment(consumerGroup)}`;
}

function memberPath(streamPrefix: string, consumerGroup: string, memberId: string): string {
  return `${groupPath(streamPrefix, consumerGroup)}/members/${segment(memberId)}`;
}

function answersRequest(answer: unknown, body: HeartbeatBody): string | null {
  const { responseTo, memberId } = answer as HeartbeatAnswer;
  if (responseTo !== body.requestId) return 'responseTo names another request';
  return memberId === body.memberId ? null : 'memberId names another member';
}

/** A key must reach its shard by index: a gap would send it elsewhere. */
function routesEveryShard(answer: unknown): string | null {
  const { shardCount, shards } = answer as ProducerRouting;
  if (shards.length !== shardCount) return `shards lists ${shards.length} of ${shardCount} shards`;
  const misplaced = shards.findIndex((shard, index) => shard.shardIndex !== index);
  return misplaced < 0 ? null : `shards[${misplaced}].shardIndex is not ${misplaced}`;
}
