/** Something that can be written out. */
export interface Flushable {
  flush(): void;
}

/**
 * Gathers what is to be written in this turn of the event loop, and writes it out together at its end: one system call for the
 * acks of many shards. Each flush looks at its lease right before the write, not when it was asked for.
 */
export class FlushTurn {
  private readonly due = new Set<Flushable>();
  private isScheduled = false;

  /** `together` runs its argument at once, and holds the writes within back until it returns. */
  constructor(private readonly together: (work: () => void) => void) {}

  request(flushable: Flushable): void {
    this.due.add(flushable);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => this.run());
  }

  private run(): void {
    this.isScheduled = false;
    const due = [...this.due];
    this.due.clear();
    this.together(() => {
      for (const flushable of due) flushable.flush();
    });
  }
}
