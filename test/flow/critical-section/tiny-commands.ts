import type { GroupCommand } from '../../../src/domain/coordinator/decision';
import { unchanged } from '../../../src/domain/coordinator/transition';
import type { MetadataVersion } from '../../../src/domain/epochs';

/** Moves the metadata version, so that each run is a write. Replies with the version that was written in the end. */
export function bump(name = 'bump'): GroupCommand<number> {
  return {
    name,
    decide: (state) => {
      if (state.metadata === null) throw new Error('no group');
      const metadataVersion = (state.metadata.metadataVersion + 1) as MetadataVersion;
      const recentVersions = [...state.metadata.recentVersions, metadataVersion].slice(-64);
      return {
        ...unchanged(state, ({ metadata }) => metadata?.metadataVersion ?? 0),
        metadata: { ...state.metadata, metadataVersion, recentVersions },
      };
    },
  };
}

/** Changes nothing; replies with the recorded revision. */
export const look: GroupCommand<number | null> = {
  name: 'look',
  decide: (state) => unchanged(state, ({ metadata }) => metadata?.storeRevision ?? null),
};

/** Would record what no group may be. */
export const breaking: GroupCommand<never> = {
  name: 'breaking',
  decide: (state) => ({
    ...unchanged(state, (): never => {
      throw new Error('was recorded');
    }),
    metadata: state.metadata === null ? null : { ...state.metadata, shardCount: 99_999 },
  }),
};

export const failing: GroupCommand<never> = {
  name: 'failing',
  decide: () => {
    throw new Error('refused');
  },
};
