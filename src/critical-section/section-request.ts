import type { Effect, GroupCommand, GroupState } from '../domain/coordinator/decision';
import type { GroupKey } from '../domain/ids';
import type { StateConflictError } from './section-errors';

/** How a command differs from the usual one. */
export interface CommandOptions {
  /** Asked by the event loop: take the group out of the index, under its lock, if it does not exist. */
  readonly removesPhantom?: boolean;
  /** What is stored may be corrupt: the command is then decided as if the group did not exist, and what it makes replaces it. */
  readonly replacesCorrupt?: boolean;
}

/** What became of a command. */
export interface SectionResult<Reply> {
  readonly reply: Reply;
  /** To be carried out now; idempotent. */
  readonly effects: readonly Effect[];
  /** The group as recorded when the reply was derived. */
  readonly state: GroupState;
}

/** What a handler of a mutating route returns: the interceptor runs it through the critical section. */
export interface SectionRequest<Reply> {
  readonly key: GroupKey;
  readonly command: GroupCommand<Reply>;
  readonly options?: Pick<CommandOptions, 'replacesCorrupt'>;
  /**
   * Makes the HTTP answer, after the section is left and its effects are carried out; may wait (a long poll) or throw.
   * `state` is the group as last recorded, effects included.
   */
  respond(reply: Reply, state: GroupState): unknown;
  /** The answer when the group moved under every attempt; without it the error is the answer (409 STATE_CONFLICT). */
  respondToConflict?(error: StateConflictError): unknown;
}

/** Gives a request its type, so that `respond` is checked against the command's reply. */
export function sectionRequest<Reply>(request: SectionRequest<Reply>): SectionRequest<Reply> {
  return request;
}

export function isSectionRequest(value: unknown): value is SectionRequest<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const candidate = value as Partial<SectionRequest<unknown>>;
  return (
    typeof candidate.key === 'object' &&
    typeof candidate.command?.decide === 'function' &&
    typeof candidate.respond === 'function'
  );
}
