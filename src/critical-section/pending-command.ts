import type { GroupCommand } from '../domain/coordinator/decision';
import type { CommandOptions, SectionResult } from './section-request';

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
