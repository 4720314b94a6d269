import type { GroupKey } from '../../src/domain/ids';
import type { RedisServer } from '../support/redis-server';
import { STORED_KEYS } from '../support/stored-group';

/** One way in which the metadata of a group is lost or spoilt. */
export interface MetadataFault {
  readonly name: string;
  readonly cause: (redis: RedisServer, key: GroupKey) => Promise<unknown>;
  readonly httpStatus: 404 | 503;
  readonly errorCode: 'GROUP_NOT_FOUND' | 'METADATA_CORRUPT' | 'METADATA_SCHEMA_UNSUPPORTED';
  /** A series of /metrics that counts it. */
  readonly metric: string;
  /** The streams are gone as well; that the group had a former life nobody knows but the coordinator. */
  readonly losesAll?: boolean;
}

const MISSING = {
  httpStatus: 404,
  errorCode: 'GROUP_NOT_FOUND',
  metric: 'redis_stream_coord_heartbeats_total{status="GROUP_NOT_FOUND"}',
} as const;
const CORRUPT = {
  httpStatus: 503,
  errorCode: 'METADATA_CORRUPT',
  metric: 'redis_stream_coord_metadata_unreadable_total{kind="CORRUPT"}',
} as const;
const UNKNOWN_SCHEMA = {
  httpStatus: 503,
  errorCode: 'METADATA_SCHEMA_UNSUPPORTED',
  metric: 'redis_stream_coord_metadata_unreadable_total{kind="SCHEMA_UNSUPPORTED"}',
} as const;

const setField = (field: string, value: string) => (redis: RedisServer, key: GroupKey) =>
  redis.cli('HSET', STORED_KEYS.metadata(key), field, value);

export const METADATA_FAULTS: readonly MetadataFault[] = [
  { name: 'is deleted', cause: (redis, key) => redis.cli('DEL', STORED_KEYS.metadata(key)), ...MISSING },
  {
    name: 'was given a time to live, which ends',
    cause: (redis, key) => redis.cli('PEXPIRE', STORED_KEYS.metadata(key), 1),
    ...MISSING,
  },
  {
    name: 'goes with all other keys (FLUSHALL)',
    cause: (redis) => redis.cli('FLUSHALL'),
    ...MISSING,
    losesAll: true,
  },
  { name: 'is no JSON', cause: setField('aggregate', '{"streamPrefix":'), ...CORRUPT },
  {
    name: 'lacks its aggregate',
    cause: (redis, key) => redis.cli('HDEL', STORED_KEYS.metadata(key), 'aggregate'),
    ...CORRUPT,
  },
  { name: 'has a revision beside it that is not its own', cause: setField('revision', '1'), ...CORRUPT },
  { name: 'has a write id beside it that is not its own', cause: setField('writeId', 'foreign'), ...CORRUPT },
  {
    name: 'is of another type',
    cause: (redis, key) => redis.cli('SET', STORED_KEYS.metadata(key), 'text'),
    ...CORRUPT,
  },
  { name: 'has the schema of a later version', cause: setField('schemaVersion', '2'), ...UNKNOWN_SCHEMA },
  { name: 'has the layout of a later version', cause: setField('layoutVersion', '2'), ...UNKNOWN_SCHEMA },
];
