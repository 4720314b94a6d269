import { NONE, newInstance } from './labels';
import type { Answer, Form, Request } from './messages';
import { NOW } from './model-time';

/**
 * A member's process as the SDK's MemberSession behaves, as an immutable value, so that an explorer can branch. Sets of shards
 * are bit masks; a shard is in at most one of reading, draining and revoked.
 * JOINING  no tenure. What ran in the last one winds down, inside its lease; only then is a join sent
 * MEMBER   a tenure with an epoch and a lease
 * LEAVING  asked to stop
 * ENDED    nothing more happens
 */
export interface Client {
  readonly member: number;
  readonly isBase: boolean;
  readonly phase: 'JOINING' | 'MEMBER' | 'LEAVING' | 'ENDED';
  /** -1 until a join is sent. */
  readonly instance: number;
  readonly epoch: number;
  readonly previousEpoch: number;
  /** Of the view that it follows; NONE without a tenure, as a join is judged by other numbers. */
  readonly version: number;
  /** Of the tenure; while JOINING of the last one. NOW: over. */
  readonly leaseEndMs: number;
  readonly reading: number;
  /** Not read any more, work in flight. */
  readonly draining: number;
  /** Nothing runs; reported until an answer does not count it as this member's. */
  readonly revoked: number;
  /** Of an ended tenure, work still in flight. */
  readonly winding: number;
  readonly isLeaveRecorded: boolean;
}

export function newClient(member: number, isBase: boolean): Client {
  return {
    member,
    isBase,
    phase: 'JOINING',
    instance: -1,
    epoch: NONE,
    previousEpoch: NONE,
    version: NONE,
    leaseEndMs: NOW,
    reading: 0,
    draining: 0,
    revoked: 0,
    winding: 0,
    isLeaveRecorded: false,
  };
}

export interface ClientRules {
  readonly leaseTtlMs: number;
  /** False: the id of a tenure is not shown again once it has begun. */
  readonly mayLeave: boolean;
}

/** Shards on which something may be read, handled or acked at this instant. */
export function shardsInUse(client: Client): number {
  return client.leaseEndMs > NOW ? client.reading | client.draining | client.winding : 0;
}

/** One step of the clock. Once its lease is over everything of the tenure has stopped. */
export function age(client: Client, stepMs: number): Client {
  if (client.leaseEndMs <= NOW) return client;
  const leaseEndMs = Math.max(NOW, client.leaseEndMs - stepMs);
  if (leaseEndMs > NOW) return { ...client, leaseEndMs };
  if (client.phase === 'JOINING') return { ...client, leaseEndMs, winding: 0 };
  return endTenure({ ...client, leaseEndMs });
}

/** Forgets the tenure. What runs goes on for as long as its lease does. */
export function endTenure(client: Client): Client {
  if (client.phase === 'LEAVING') return { ...newClient(client.member, client.isBase), phase: 'ENDED' };
  const winding = client.leaseEndMs > NOW ? client.reading | client.draining | client.winding : 0;
  return {
    ...newClient(client.member, client.isBase),
    previousEpoch: client.isBase ? NONE : client.epoch > NONE ? client.epoch : client.previousEpoch,
    leaseEndMs: winding === 0 ? NOW : client.leaseEndMs,
    winding,
  };
}

/** Nothing of the shard runs any more. */
export function stopShard(client: Client, shard: number): Client {
  const bit = 1 << shard;
  if ((client.winding & bit) !== 0) {
    const winding = client.winding & ~bit;
    return { ...client, winding, leaseEndMs: winding === 0 ? NOW : client.leaseEndMs };
  }
  return { ...client, draining: client.draining & ~bit, revoked: client.revoked | bit };
}

/** Begins an orderly stop. `joinAgeMs`: since the join under way was sent. */
export function beginLeave(client: Client, rules: ClientRules, joinAgeMs: number): Client {
  if (client.phase === 'MEMBER')
    return { ...client, phase: 'LEAVING', reading: 0, draining: client.draining | client.reading };
  if (client.instance < 0) return { ...newClient(client.member, client.isBase), phase: 'ENDED' };
  return { ...client, phase: 'LEAVING', leaseEndMs: NOW + rules.leaseTtlMs - joinAgeMs };
}

export function nextForm(client: Client): Form {
  if (client.phase === 'JOINING') return 'JOIN';
  const isRunning = (client.reading | client.draining) !== 0;
  return client.phase === 'MEMBER' || (client.isLeaveRecorded && isRunning) ? 'BEAT' : 'LEAVE';
}

export function nextRequest(
  sender: Client,
  isBare: boolean,
): { readonly client: Client; readonly request: Request } {
  const form = nextForm(sender);
  const { member, isBase } = sender;
  const isNewTenure = form === 'JOIN' && sender.instance < 0 && !isBase;
  const client = isNewTenure ? { ...sender, instance: newInstance(member) } : sender;
  const isJoin = form === 'JOIN';
  const request: Request = {
    kind: 'REQUEST',
    form,
    member,
    isBase,
    epoch: form === 'BEAT' ? client.epoch : NONE,
    // A leave says it too, but there the instanceId decides.
    previousEpoch: isJoin ? client.previousEpoch : NONE,
    instance: form === 'BEAT' ? -1 : client.instance,
    version: client.version,
    isBare,
    owned: isJoin || isBare ? 0 : client.reading,
    draining: isJoin || isBare ? 0 : client.draining,
    revoked: isJoin || isBare ? 0 : client.revoked,
  };
  return { client, request };
}

/** Follows the answer to the request that it waits for, sent `ageMs` ago. */
export function applyAnswer(client: Client, answer: Answer, ageMs: number, rules: ClientRules): Client {
  switch (answer.status) {
    case 'FENCED_MEMBER_EPOCH':
    case 'UNKNOWN_MEMBER_ID':
      return endTenure(client);
    case 'UNSUPPORTED_PROTOCOL':
    case 'RETRY':
      return client;
    default:
      return answer.form === 'LEAVE' ? followLeave(client, answer) : follow(client, answer, ageMs, rules);
  }
}

function follow(client: Client, answer: Answer, ageMs: number, rules: ClientRules): Client {
  const leaseEndMs = NOW - ageMs + rules.leaseTtlMs;
  const isJoin = answer.form === 'JOIN';
  const isOlder = answer.status === 'OK' && answer.version < client.version;
  if ((!isJoin && isOlder) || leaseEndMs <= NOW) return client;
  const phase = client.phase === 'JOINING' ? 'MEMBER' : client.phase;
  const { assigned } = answer;
  const mayStart = answer.status === 'OK' && phase === 'MEMBER';
  const started = mayStart ? assigned : client.reading & assigned;
  const isForgotten = client.isBase ? answer.reported : ~answer.revoking;
  return {
    ...client,
    phase,
    epoch: isJoin ? answer.epoch : client.epoch,
    instance: isJoin && !rules.mayLeave ? -1 : client.instance,
    previousEpoch: isJoin ? NONE : client.previousEpoch,
    version: answer.version,
    leaseEndMs,
    reading: started,
    draining: (client.draining | (client.reading & ~assigned)) & ~started,
    revoked: client.revoked & ~started & ~(isForgotten & ~assigned),
    winding: isJoin ? 0 : client.winding,
  };
}

function followLeave(client: Client, answer: Answer): Client {
  if (answer.status !== 'OK') return client;
  const version = Math.max(client.version, answer.version);
  const recorded = { ...client, isLeaveRecorded: true, version };
  const isRunning = (client.reading | client.draining) !== 0;
  const isUnreported = (client.revoked & ~answer.reported) !== 0;
  return isRunning || isUnreported ? recorded : endTenure(recorded);
}

export function keyOfClient(client: Client): string {
  return `${client.member}|${client.isBase}|${client.phase}|${client.instance}|${client.epoch}|${client.previousEpoch}|${client.version}|${client.leaseEndMs}|${client.reading}|${client.draining}|${client.revoked}|${client.winding}|${client.isLeaveRecorded}`;
}
