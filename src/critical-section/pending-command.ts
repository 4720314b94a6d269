import type { GroupCommand } from '../domain/coordinator/decision';
import type { SectionResult } from './section-request';

/** How a command differs from the usual one. */
export interface CommandOptions {
  /** Asked by the event loop: take the group out of the index, under its lock, if it does not exist. */
  readonly removesPhantom?: boolean;
  /** What is stored may be corrupt: the command is then decided as if the group did not exist, and what it makes replaces it. */
  readonly replacesCorrupt?: boolean;
}

/** A command on its way: settled once, by whoever refuses, renews or decides it. Settling again does nothing. */
export class PendingCommand {
  readonly promise: Promise<SectionResult<unknown>>;
  resolve!: (result: SectionResult<unknown>) => void;
  reject!: (error: unknown) => void;

  constructor(
    readonly command: GroupCommand<unknown>,
    readonly options: CommandOptions = {},
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}
