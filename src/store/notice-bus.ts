import type { GroupKey } from '../domain/ids';

/**
 * News that a group changed, from whichever coordinator changed it (this one included): published by the commit itself.
 * Only a hint: a notice may be lost (while the connection is away) or come twice, and says nothing about the new state.
 */
export interface NoticeBus {
  /** @returns ends the subscription. */
  onNotice(listener: (key: GroupKey) => void): () => void;
}
