const FIRST_CAPACITY = 1 << 12;

/** States as rows of integers, each kept once and numbered in the order in which they came. */
export class StateTable {
  private rows: Int32Array;
  private buckets: Int32Array;
  private count = 0;

  constructor(readonly width: number) {
    this.rows = new Int32Array(FIRST_CAPACITY * width);
    this.buckets = new Int32Array(FIRST_CAPACITY * 2);
  }

  get size(): number {
    return this.count;
  }

  /** The number of the row; `size - 1` before the call plus one, if it is new. */
  add(row: Int32Array): number {
    const mask = this.buckets.length - 1;
    let bucket = hashOf(row) & mask;
    for (;;) {
      const found = this.buckets[bucket] as number;
      if (found === 0) break;
      if (this.isRow(found - 1, row)) return found - 1;
      bucket = (bucket + 1) & mask;
    }
    this.buckets[bucket] = this.count + 1;
    if ((this.count + 1) * this.width > this.rows.length) this.rows = grown(this.rows);
    this.rows.set(row, this.count * this.width);
    this.count += 1;
    if (this.count * 2 > this.buckets.length) this.rehash();
    return this.count - 1;
  }

  read(position: number, into: Int32Array): void {
    const start = position * this.width;
    for (let i = 0; i < this.width; i += 1) into[i] = this.rows[start + i] as number;
  }

  private isRow(position: number, row: Int32Array): boolean {
    const start = position * this.width;
    for (let i = 0; i < this.width; i += 1) if (this.rows[start + i] !== row[i]) return false;
    return true;
  }

  private rehash(): void {
    this.buckets = new Int32Array(this.buckets.length * 2);
    const mask = this.buckets.length - 1;
    const row = new Int32Array(this.width);
    for (let position = 0; position < this.count; position += 1) {
      this.read(position, row);
      let bucket = hashOf(row) & mask;
      while (this.buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
      this.buckets[bucket] = position + 1;
    }
  }
}

export function grown(array: Int32Array): Int32Array {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

function hashOf(row: Int32Array): number {
  let hash = 0x811c9dc5;
  for (const value of row) {
    hash = Math.imul(hash ^ value, 0x01000193);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 13), 0x5bd1e995);
  return hash ^ (hash >>> 16);
}
