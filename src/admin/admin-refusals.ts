import { assertNever } from '../domain/assert';
import type { AdminResult } from '../domain/coordinator/on-admin';
import type { AdminRefusal } from '../domain/coordinator/refusals';
import type { GroupKey } from '../domain/ids';
import { ApiError } from '../http/api-error';
import { groupNotFound } from '../http/group-not-found';

/** The value of an accepted mutation. @throws ApiError for a refused one. */
export function acceptedOrThrow<Value>(key: GroupKey, result: AdminResult<Value>): Value {
  if (result.ok) return result.value;
  throw apiErrorOf(key, result.refusal);
}

function apiErrorOf(key: GroupKey, refusal: AdminRefusal): ApiError {
  const group = `group ${key.consumerGroup} of stream ${key.streamPrefix}`;
  switch (refusal.code) {
    case 'GROUP_NOT_FOUND':
      return groupNotFound(key);
    case 'GROUP_ALREADY_EXISTS':
      return new ApiError('GROUP_ALREADY_EXISTS', `${group} exists already`);
    case 'MEMBER_NOT_FOUND':
      return new ApiError('MEMBER_NOT_FOUND', `${group} has no such member`);
    case 'LIVE_MEMBERS_PRESENT':
      return new ApiError(
        'LIVE_MEMBERS_PRESENT',
        `${group} has ${refusal.liveMembers} live members: stop them first, or say "force": true`,
      );
    case 'METADATA_CORRECTION_ACTIVE':
      return new ApiError(
        'METADATA_CORRECTION_ACTIVE',
        `${group} is in a correction round since ${new Date(refusal.startedAtMs).toISOString()}: repeat the request when it has ended`,
      );
    case 'STATE_CONFLICT':
      return new ApiError('STATE_CONFLICT', `${group} has metadataVersion ${refusal.currentVersion} by now`, {
        details: [
          { field: 'expectedMetadataVersion', rule: `must be ${refusal.currentVersion}, the recorded one` },
        ],
      });
    default:
      return assertNever(refusal);
  }
}
