/** Of so many schedules on, a kind of fault that struck less often than this is a hole in the simulation. */
const SCHEDULES_OF_A_FULL_RUN = 10_000;
const LEAST_STRIKES = 1_000;
const PROGRESS_EVERY = 1_000;

/** The sum of what many schedules did. */
export class Totals {
  failures = [];
  #schedules = 0;
  #steps = 0;
  #checks = 0;
  #virtualMs = 0;
  #faults = new Map();
  #coverage = new Map();

  add({ seed, steps, checks, virtualMs, faults, coverage, violations }) {
    this.#schedules += 1;
    this.#steps += steps;
    this.#checks += checks;
    this.#virtualMs += virtualMs;
    addAll(this.#faults, faults);
    addAll(this.#coverage, coverage);
    if (violations.length > 0) this.failures.push({ seed, violations });
    // For whoever waits; the result goes to the other stream.
    if (this.#schedules % PROGRESS_EVERY === 0)
      console.error(`${this.#schedules} schedules, ${this.failures.length} violated`);
  }

  /** Kinds of faults, of those given, that struck too rarely for so many schedules. */
  rareFaults(kinds) {
    if (this.#schedules < SCHEDULES_OF_A_FULL_RUN) return [];
    return kinds.filter((kind) => (this.#faults.get(kind) ?? 0) < LEAST_STRIKES);
  }

  print(seconds) {
    this.failures.sort((one, other) => one.seed - other.seed);
    console.log('faults by kind');
    printCounts(this.#faults);
    console.log('reached');
    printCounts(this.#coverage);
    console.log(
      `schedules            ${this.#schedules} (${(this.#schedules / seconds).toFixed(1)} per second)`,
    );
    console.log(`virtual time         ${(this.#virtualMs / 3_600_000).toFixed(1)} hours`);
    console.log(`steps                ${this.#steps}`);
    console.log(`invariants checked   ${this.#checks}`);
    console.log(`violations           ${this.failures.length}`);
    for (const { seed, violations } of this.failures) {
      const [first] = violations;
      console.log(`  seed ${seed} at ${first.atMs} ms: ${first.invariant}: ${first.detail}`);
    }
  }
}

function addAll(sum, counts) {
  for (const [name, count] of counts) sum.set(name, (sum.get(name) ?? 0) + count);
}

function printCounts(counts) {
  for (const [name, count] of [...counts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    console.log(`  ${name.padEnd(44)} ${count}`);
  }
}
