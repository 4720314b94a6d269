/** Chance of one schedule: the same seed gives the same numbers in the same order. Everything that is random draws from it. */
export class SeededRandom {
  private a: number;
  private b = 0x9e3779b9;
  private c = 0x243f6a88;
  private d = 1;
  private ids = 0;

  constructor(seed: number) {
    this.a = seed | 0;
    for (let warmUp = 0; warmUp < 15; warmUp += 1) this.next();
  }

  /** 0 to below 1. The generator sfc32. */
  next(): number {
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Quarters of a millisecond, so that clocks of whole milliseconds are not always exact. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low) * 4) / 4;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Waits between events that come on average every `meanMs`. */
  waitMs(meanMs: number): number {
    return Math.ceil(-Math.log(1 - this.next()) * meanMs);
  }

  /** Never repeated within a schedule. */
  id(prefix: string): string {
    this.ids += 1;
    return `${prefix}${this.ids}`;
  }
}
