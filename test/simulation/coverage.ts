/** How often things happened that a schedule is there for: a sum over many schedules shows what was never reached. */
export class Coverage {
  readonly counts = new Map<string, number>();

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }
}
