import { HEARTBEAT_STATUSES } from '../protocol';
import type { AnswerCheck } from './coordinator-http';

/**
 * What the SDK relies on in a coordinator's answer. Fields that it does not know are ignored, and those that it only hands on
 * are not looked at: a newer coordinator may send more, a proxy's error page must not pass for an answer.
 */
type FieldCheck = (value: unknown, path: string) => string | null;

const text: FieldCheck = (value, path) => (typeof value === 'string' ? null : `${path} is no text`);
const flag: FieldCheck = (value, path) => (typeof value === 'boolean' ? null : `${path} is no boolean`);
const integer: FieldCheck = (value, path) => (Number.isSafeInteger(value) ? null : `${path} is no integer`);
const count: FieldCheck = (value, path) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? null : `${path} is no integer from 0`;
const duration: FieldCheck = (value, path) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? null : `${path} is no integer above 0`;

function oneOf(names: readonly string[]): FieldCheck {
  return (value, path) =>
    typeof value === 'string' && names.includes(value) ? null : `${path} is none of ${names.join(', ')}`;
}

function optional(check: FieldCheck): FieldCheck {
  return (value, path) => (value === undefined || value === null ? null : check(value, path));
}

function listOf(check: FieldCheck): FieldCheck {
  return (value, path) => {
    if (!Array.isArray(value)) return `${path} is no list`;
    return firstFault(value.entries(), (index, item) => check(item, `${path}[${index}]`));
  };
}

function recordOf(check: FieldCheck): FieldCheck {
  return (value, path) => {
    if (!isRecord(value)) return `${path} is no object`;
    return firstFault(Object.entries(value), (name, item) => check(item, `${path}.${name}`));
  };
}

function shape(fields: Readonly<Record<string, FieldCheck>>): FieldCheck {
  const checks = Object.entries(fields);
  return (value, path) => {
    if (!isRecord(value)) return `${path === '' ? 'the body' : path} is no object`;
    const prefix = path === '' ? '' : `${path}.`;
    return firstFault(checks, (name, check) => check(value[name], `${prefix}${name}`));
  };
}

function firstFault<Name, Item>(
  items: Iterable<readonly [Name, Item]>,
  faultOf: (name: Name, item: Item) => string | null,
): string | null {
  for (const [name, item] of items) {
    const fault = faultOf(name, item);
    if (fault !== null) return fault;
  }
  return null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const answerOf = (fields: Readonly<Record<string, FieldCheck>>): AnswerCheck => {
  const check = shape(fields);
  return (answer) => check(answer, '');
};

const shardId = shape({ shardIndex: count });
const shardIds = listOf(shardId);
const shardsPerMember = recordOf(shardIds);

const GROUP = {
  streamPrefix: text,
  consumerGroup: text,
  state: text,
  groupEpoch: integer,
  assignmentEpoch: integer,
  metadataVersion: integer,
  shardCount: count,
  targetAssignmentSummary: recordOf(count),
  currentAssignmentSummary: recordOf(count),
};

const MEMBER = {
  memberId: text,
  state: text,
  memberEpoch: integer,
  currentAssignment: shardIds,
  revoking: shardIds,
};

export const checkGroup = answerOf(GROUP);

export const checkCreatedStream = answerOf({
  streamPrefix: text,
  shardCount: count,
  metadataVersion: integer,
});

export const checkHeartbeat = answerOf({
  responseTo: text,
  status: oneOf(HEARTBEAT_STATUSES),
  memberId: text,
  memberEpoch: integer,
  heartbeatIntervalMs: duration,
  rebalanceTimeoutMs: duration,
  groupEpoch: integer,
  assignmentEpoch: integer,
  metadataVersion: integer,
  leaseTtlMs: optional(duration),
  assignment: shape({
    assignedShards: shardIds,
    pendingShards: shardIds,
    metadataVersion: integer,
    revokingShards: optional(shardIds),
    fencingTokens: optional(listOf(shape({ shardIndex: count, token: integer }))),
  }),
});

export const checkProducerRouting = answerOf({
  streamPrefix: text,
  consumerGroup: text,
  metadataVersion: integer,
  shardCount: count,
  shards: listOf(shape({ shardIndex: count, streamKey: text })),
  leaseMs: optional(duration),
  refreshMs: optional(duration),
  regressed: optional(flag),
});

export const checkHealth = answerOf({ status: text, coordinatorId: text });

export const checkCompatibility = answerOf({
  currentCoordinationVersion: integer,
  supportedCoordinationVersions: shape({ min: integer, max: integer }),
});

export const checkGroupsPage = answerOf({ groups: listOf(shape(GROUP)), nextCursor: optional(text) });

export const checkMembers = answerOf({ members: listOf(shape(MEMBER)) });

export const checkAssignments = answerOf({
  targetAssignment: shardsPerMember,
  currentAssignments: shardsPerMember,
  revokeProgress: shardsPerMember,
  invariantViolations: listOf(text),
});

export const checkExplain = answerOf({
  streamPrefix: text,
  consumerGroup: text,
  state: text,
  shards: listOf(shape({ shardIndex: count })),
  members: listOf(shape({ memberId: text })),
});

export const checkExportedGroup = answerOf({ format: text, streamPrefix: text, consumerGroup: text });

export const checkRepairedIndex = answerOf({ added: count });
