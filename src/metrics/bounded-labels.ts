/** What a label says when its value is none of the first ones. */
export const OTHER = 'OTHER';

/**
 * Keeps the values of one label a small set, whatever it is handed: Prometheus keeps a series per value for ever. The first
 * `limit` values stay as they are, all later ones become OTHER.
 */
export class BoundedLabel {
  private readonly seen = new Set<string>();

  constructor(private readonly limit: number) {}

  of(value: string): string {
    if (this.seen.has(value)) return value;
    if (this.seen.size >= this.limit) return OTHER;
    this.seen.add(value);
    return value;
  }
}
