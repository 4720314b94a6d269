/**
 * What every benchmark here shares. A benchmark is a plain script on the built package (`npm run build` first):
 * it prints one row per case, and with `--check` exits 1 when a case misses its limit. `share` is measured / limit,
 * the number to compare between commits: at most 1 is good for a row with an upper limit, at least 1 for one with a lower.
 */

const MS_DIGITS = 2;

/**
 * Runs `run(input)` and times it alone; `prepare()` makes a fresh input for each run, outside the timed part.
 * The first run is also told apart: a coordinator's first real call is as cold as that.
 *
 * @returns times in ms: median, the 10th and 90th percentile as the spread, and the first (cold) run.
 */
export function measure({ runs, warmups, prepare, run }) {
  const timesMs = [];
  let coldMs = 0;
  for (let index = 0; index < warmups + runs; index += 1) {
    const input = prepare();
    const startedAtMs = performance.now();
    run(input);
    const elapsedMs = performance.now() - startedAtMs;
    if (index === 0) coldMs = elapsedMs;
    if (index >= warmups) timesMs.push(elapsedMs);
  }
  timesMs.sort((left, right) => left - right);
  return {
    medianMs: percentile(timesMs, 0.5),
    p10Ms: percentile(timesMs, 0.1),
    p90Ms: percentile(timesMs, 0.9),
    coldMs,
  };
}

/** How often each measurement is repeated, so that one bad moment of a shared machine shows as spread. */
export const RUNS = 3;

/**
 * The asynchronous sibling of `measure`: `run(index)` measures something itself (a ratio, a latency) and resolves to it.
 * One after the other: what is measured must not compete with itself.
 */
export async function measureRuns(run, runs = RUNS) {
  const results = [];
  for (let index = 0; index < runs; index += 1) results.push(await run(index));
  return results;
}

/** Median, smallest and largest of some numbers. */
export function spreadOf(values) {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  const median =
    sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

/** `12,300/s (11,900 to 12,800)`: absolute numbers, to stand beside a ratio. */
export function rateText(values) {
  const { median, min, max } = spreadOf(values);
  return `${wholeNumber(median)}/s (${wholeNumber(min)} to ${wholeNumber(max)})`;
}

export function wholeNumber(value) {
  return Math.round(value).toLocaleString('en-US');
}

export function percentile(sorted, fraction) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}

/** A row of a report: what was measured against its limit, and a note with the spread. Lower is better. */
export function limitRow({ name, measured, limit, unit, note }) {
  return { name, measured, limit, unit, note, bound: 'at most', missed: !(measured <= limit) };
}

/** The same, where higher is better. */
export function atLeastRow({ name, measured, limit, unit, note }) {
  return { name, measured, limit, unit, note, bound: 'at least', missed: !(measured >= limit) };
}

/** A row from the values of several runs: their median counts, their spread is told. */
export function spreadRow({ name, values, limit, unit, note, higherIsBetter = false }) {
  const { median, min, max } = spreadOf(values);
  const spread = `${values.length} runs ${min.toFixed(MS_DIGITS)} to ${max.toFixed(MS_DIGITS)}`;
  const row = { name, measured: median, limit, unit, note: note === '' ? spread : `${spread}; ${note}` };
  return higherIsBetter ? atLeastRow(row) : limitRow(row);
}

export function timeRow({ name, result, limitMs }) {
  const spread = `p10 ${result.p10Ms.toFixed(MS_DIGITS)} p90 ${result.p90Ms.toFixed(MS_DIGITS)}`;
  const note = `${spread} cold ${result.coldMs.toFixed(MS_DIGITS)}`;
  return limitRow({ name, measured: result.medianMs, limit: limitMs, unit: 'ms', note });
}

/** Prints the rows; under `--check` a missed limit makes the process exit 1. */
export function report(title, rows) {
  console.log(title);
  const width = Math.max(...rows.map((row) => row.name.length));
  for (const row of rows) {
    const measured = `${row.measured.toFixed(MS_DIGITS)} ${row.unit}`.padStart(10);
    const share = (row.measured / row.limit).toFixed(3);
    const verdict = row.missed ? 'MISSED' : 'ok';
    console.log(
      `  ${row.name.padEnd(width)} ${measured}  limit ${row.bound} ${row.limit} ${row.unit}  share ${share}  ${verdict}  (${row.note})`,
    );
  }
  const missed = rows.filter((row) => row.missed).length;
  console.log(missed === 0 ? `  all ${rows.length} within limits` : `  ${missed} of ${rows.length} missed`);
  if (missed > 0 && process.argv.includes('--check')) process.exitCode = 1;
}

/** Imports a module of the built package, e.g. `fromDist('domain/ids.js')`. */
export async function fromDist(path) {
  const url = new URL(`../../dist/${path}`, import.meta.url);
  try {
    return await import(url.href);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error(`${url.pathname} is missing: run "npm run build" first`);
    process.exit(2);
  }
}
