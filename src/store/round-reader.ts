import type { MetadataVersion } from '../domain/epochs';
import type { CorrectionRound, RoundCause, RoundHistory } from '../domain/group/group-metadata';
import { parseMemberId, type MemberId } from '../domain/ids';
import type { EpochMillis } from '../domain/time';
import { nullOr, readCount, readList, readObject, readOneOf, UnreadableValueError } from './strict-json';

const CAUSES: readonly RoundCause[] = ['UNKNOWN_VERSION', 'REDIS_ID', 'REVISION', 'RESTORE'];
const ROUND_FIELDS = ['cause', 'roundVersion', 'startedAtMs', 'observedVersion', 'silentUntilMs', 'synced'];
const HISTORY_FIELDS = ['lastRoundVersion', 'lastObservedVersion', 'strangerAtMs'];
const NO_HISTORY: RoundHistory = {
  lastRoundVersion: 0 as MetadataVersion,
  lastObservedVersion: null,
  strangerAtMs: null,
};

/** Missing: no round is active. @throws UnreadableValueError */
export function readRound(value: unknown): CorrectionRound | null {
  if (value === undefined) return null;
  const stored = readObject(value, 'correction', ROUND_FIELDS);
  return {
    cause: readOneOf(stored['cause'], 'correction.cause', CAUSES),
    roundVersion: readCount(stored['roundVersion'], 'correction.roundVersion') as MetadataVersion,
    startedAtMs: readCount(stored['startedAtMs'], 'correction.startedAtMs') as EpochMillis,
    observedVersion: nullOr(stored['observedVersion'], (version) =>
      readCount(version, 'correction.observedVersion'),
    ),
    silentUntilMs: readCount(stored['silentUntilMs'], 'correction.silentUntilMs') as EpochMillis,
    synced: readSynced(stored['synced']),
  };
}

function readSynced(value: unknown): ReadonlySet<MemberId> {
  const ids = readList(value, 'correction.synced').map((entry) => {
    const memberId = typeof entry === 'string' ? parseMemberId(entry) : null;
    if (memberId === null) throw new UnreadableValueError('correction.synced', 'names an invalid member id');
    return memberId;
  });
  const synced = new Set(ids);
  if (synced.size !== ids.length) throw new UnreadableValueError('correction.synced', 'names a member twice');
  return synced;
}

/** Missing: there never was a round. @throws UnreadableValueError */
export function readHistory(value: unknown): RoundHistory {
  if (value === undefined) return NO_HISTORY;
  const stored = readObject(value, 'rounds', HISTORY_FIELDS);
  return {
    lastRoundVersion: readCount(stored['lastRoundVersion'], 'rounds.lastRoundVersion') as MetadataVersion,
    lastObservedVersion: nullOr(stored['lastObservedVersion'], (version) =>
      readCount(version, 'rounds.lastObservedVersion'),
    ),
    strangerAtMs: nullOr(
      stored['strangerAtMs'],
      (atMs) => readCount(atMs, 'rounds.strangerAtMs') as EpochMillis,
    ),
  };
}
