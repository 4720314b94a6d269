// The data of the demo: flights in the order of their departure, keyed by the airport they leave from.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** 20,000 flights from 220 airports. A few large airports have most of them, as keys do in real streams. */
const DATA_SET = '../../node_modules/vega-datasets/data/flights-20k.json';

export function inputFile() {
  return fileURLToPath(new URL(DATA_SET, import.meta.url)); // its package exports only code
}

/** Rows `{origin, destination, date, delay, distance}` in the order of publishing. */
export function readRows(file, limit) {
  const rows = JSON.parse(readFileSync(file, 'utf8'));
  return limit === undefined ? rows : rows.slice(0, limit);
}

export function partitionKeyOf(row) {
  return row.origin;
}
