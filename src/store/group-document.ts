import type { GroupMetadata, Leases } from '../domain/group/group-metadata';
import { parseConsumerGroup, parseStreamPrefix, type GroupKey } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import { encodeAggregate, LAYOUT_VERSION, SCHEMA_VERSION } from './aggregate-writer';
import { readStoredGroup, type Unread } from './codec';
import type { LoadedGroup, LoadOutcome, MetadataStore } from './metadata-store';
import { readCount, readList, readObject, readText, UnreadableValueError } from './strict-json';

/** Changes with the fields around the aggregate; the aggregate's own form is told by schema and layout version. */
export const GROUP_DOCUMENT_FORMAT = 'redis-stream-coordinator/group/1';

/**
 * All that is recorded of a group, in one JSON document that needs nothing else to be understood: what an operator keeps, and
 * restores from. Reports of members are left out: they are for observation.
 */
export interface GroupDocument {
  readonly format: typeof GROUP_DOCUMENT_FORMAT;
  readonly streamPrefix: string;
  readonly consumerGroup: string;
  /** The Redis clock at the export, ms. */
  readonly exportedAtMs: number;
  readonly schemaVersion: string;
  readonly layoutVersion: string;
  readonly revision: number;
  readonly writeId: string;
  readonly metadataVersion: number;
  /** Of the last write, ms. */
  readonly updatedAtMs: number;
  /** Identity of the Redis that took it. */
  readonly redisId: string;
  readonly leases: readonly { readonly memberId: string; readonly deadlineMs: number }[];
  readonly aggregate: unknown;
}

export type ExportOutcome =
  | { readonly kind: 'EXPORTED'; readonly document: GroupDocument }
  | Exclude<LoadOutcome, LoadedGroup>;

/** Reads the group without lock. Only a readable one is exported. @throws StoreError */
export async function exportGroup(store: Pick<MetadataStore, 'load'>, key: GroupKey): Promise<ExportOutcome> {
  const outcome = await store.load(key);
  return outcome.kind === 'LOADED' ? { kind: 'EXPORTED', document: documentOf(outcome) } : outcome;
}

function documentOf({ metadata, leases, redisNowMs }: LoadedGroup): GroupDocument {
  return {
    format: GROUP_DOCUMENT_FORMAT,
    streamPrefix: metadata.streamPrefix,
    consumerGroup: metadata.consumerGroup,
    exportedAtMs: redisNowMs,
    schemaVersion: SCHEMA_VERSION,
    layoutVersion: LAYOUT_VERSION,
    revision: metadata.storeRevision,
    writeId: metadata.writeId,
    metadataVersion: metadata.metadataVersion,
    updatedAtMs: metadata.updatedAtMs,
    redisId: metadata.redisId,
    leases: [...leases].map(([memberId, deadlineMs]) => ({ memberId, deadlineMs })),
    aggregate: JSON.parse(encodeAggregate(metadata)) as unknown,
  };
}

const DOCUMENT_FIELDS = [
  'format',
  'streamPrefix',
  'consumerGroup',
  'exportedAtMs',
  'schemaVersion',
  'layoutVersion',
  'revision',
  'writeId',
  'metadataVersion',
  'updatedAtMs',
  'redisId',
  'leases',
  'aggregate',
];
const TEXT_MAX_LENGTH = 1_000;

export type ReadDocument =
  | {
      readonly kind: 'READ';
      readonly key: GroupKey;
      readonly exportedAtMs: EpochMillis;
      readonly metadata: GroupMetadata;
      readonly leases: Leases;
    }
  | Unread;

/**
 * Reads what `exportGroup` wrote, as strictly as what is stored: a document that somebody edited must still make sense as a
 * group, and its numbers must be those of its aggregate.
 */
export function readGroupDocument(value: unknown): ReadDocument {
  try {
    return readDocument(value);
  } catch (error) {
    if (error instanceof UnreadableValueError) return { kind: 'CORRUPT', reason: error.message };
    throw error;
  }
}

function readDocument(value: unknown): ReadDocument {
  const stored = readObject(value, 'document', DOCUMENT_FIELDS);
  if (stored['format'] !== GROUP_DOCUMENT_FORMAT)
    throw new UnreadableValueError('format', `is not ${GROUP_DOCUMENT_FORMAT}`);
  const text = (name: string): string => readText(stored[name], name, TEXT_MAX_LENGTH);
  const streamPrefix = parseStreamPrefix(text('streamPrefix'));
  const consumerGroup = parseConsumerGroup(text('consumerGroup'));
  if (streamPrefix === null || consumerGroup === null)
    throw new UnreadableValueError('document', 'is of no valid group');
  const key: GroupKey = { streamPrefix, consumerGroup };
  const read = readStoredGroup(
    key,
    {
      aggregate: JSON.stringify(stored['aggregate']),
      revision: String(readCount(stored['revision'], 'revision')),
      writeId: text('writeId'),
      schemaVersion: text('schemaVersion'),
      layoutVersion: text('layoutVersion'),
      updatedAt: String(readCount(stored['updatedAtMs'], 'updatedAtMs')),
      redisId: stored['redisId'] === '' ? '' : text('redisId'),
    },
    readLeases(stored['leases']),
  );
  if (read.kind !== 'READ') return read;
  if (readCount(stored['metadataVersion'], 'metadataVersion') !== read.metadata.metadataVersion)
    throw new UnreadableValueError('metadataVersion', 'differs from that of the aggregate');
  const exportedAtMs = readCount(stored['exportedAtMs'], 'exportedAtMs') as EpochMillis;
  return { kind: 'READ', key, exportedAtMs, metadata: read.metadata, leases: read.leases };
}

/** As they lie in Redis: `[memberId, deadline, ...]`. */
function readLeases(value: unknown): readonly string[] {
  return readList(value, 'leases').flatMap((entry, index) => {
    const stored = readObject(entry, `leases[${index}]`, ['memberId', 'deadlineMs']);
    return [
      readText(stored['memberId'], `leases[${index}]`, TEXT_MAX_LENGTH),
      String(readCount(stored['deadlineMs'], `leases[${index}]`)),
    ];
  });
}
