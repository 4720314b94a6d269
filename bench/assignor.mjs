/**
 * The target assignor at 10,000 shards and 1,000 members: six changes of a group, each at most 10 ms (median).
 * And, the same on any machine: four times the size may cost at most eight times the time (near-linear; a
 * quadratic assignor would need sixteen).
 *
 *   node bench/assignor.mjs [--check]
 */
import { createHash } from 'node:crypto';
import { fromDist, limitRow, measure, report, timeRow } from './lib/measure.mjs';

const { assignTarget } = await fromDist('domain/assignment/target-assignment.js');

const SHARDS = 10_000;
const MEMBERS = 1_000;
const LIMIT_MS = 10;
const RUNS = 51;
const WARMUPS = 5;
const GROWTH = 4;
const GROWTH_LIMIT = 8;

/** As pods are named, in an order that is not the order of the ids. */
const memberId = (index) =>
  `orders-consumer-${createHash('sha256').update(String(index)).digest('hex').slice(0, 20)}`;
const membersUpTo = (count) => Array.from({ length: count }, (_unused, index) => memberId(index));
const emptyShards = (count) => Array.from({ length: count }, () => null);

function casesOf(shards, members) {
  const everybody = membersUpTo(members + members / 10);
  const present = everybody.slice(0, members);
  const stable = assignTarget(emptyShards(shards), present);
  return [
    { name: 'from empty', previous: emptyShards(shards), eligible: present },
    { name: 'stable', previous: stable, eligible: present },
    { name: 'one joins', previous: stable, eligible: everybody.slice(0, members + 1) },
    { name: 'one leaves', previous: stable, eligible: present.slice(1) },
    { name: `${members / 10} join`, previous: stable, eligible: everybody },
    { name: 'shards doubled', previous: [...stable, ...emptyShards(shards)], eligible: present },
  ];
}

/** The input is parsed anew for each run: in production ids come out of JSON, as strings never hashed before. */
function timeCase({ previous, eligible }) {
  const text = JSON.stringify({ previous, eligible });
  return measure({
    runs: RUNS,
    warmups: WARMUPS,
    prepare: () => JSON.parse(text),
    run: (input) => assignTarget(input.previous, input.eligible),
  });
}

const cases = casesOf(SHARDS, MEMBERS);
const results = cases.map(timeCase);
const largerResults = casesOf(SHARDS * GROWTH, MEMBERS * GROWTH).map(timeCase);

const rows = cases.map(({ name }, index) => timeRow({ name, result: results[index], limitMs: LIMIT_MS }));
const growthRows = cases.map(({ name }, index) =>
  limitRow({
    name: `growth, ${name}`,
    measured: largerResults[index].medianMs / results[index].medianMs,
    limit: GROWTH_LIMIT,
    unit: 'x',
    note: `${largerResults[index].medianMs.toFixed(2)} ms at ${GROWTH} times the size`,
  }),
);
report(`assignor: ${SHARDS} shards, ${MEMBERS} members, median of ${RUNS} runs`, [...rows, ...growthRows]);
