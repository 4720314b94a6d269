import type { GroupKey } from '../domain/ids';
import { ApiError } from './api-error';

/** 404 for a group that is not recorded. It is never rebuilt from what clients say. */
export function groupNotFound({ streamPrefix, consumerGroup }: GroupKey): ApiError {
  return new ApiError('GROUP_NOT_FOUND', `there is no group ${consumerGroup} of stream ${streamPrefix}`);
}
