import { createHash } from 'node:crypto';

const NOT_KEPT = 'the trace was not kept';

/** The history of one schedule as text: the same seed gives the same, byte for byte. Off unless somebody wants to read it. */
export class Trace {
  readonly lines: string[] = [];

  constructor(
    readonly isOn: boolean,
    private readonly clock: { readonly nowMs: number },
  ) {}

  /** Callers ask `isOn` first where the text costs something. */
  add(who: string, what: string): void {
    if (this.isOn) this.lines.push(`${this.clock.nowMs.toFixed(2).padStart(10)} ${who.padEnd(6)} ${what}`);
  }

  hash(): string {
    if (!this.isOn) throw new Error(NOT_KEPT);
    return createHash('sha256').update(this.lines.join('\n')).digest('hex');
  }
}
