/** What both sides of the publish benchmark share: the entry, and how many are under way. */
export const PAYLOAD = 'p'.repeat(100);

/** Runs `publish(number)` with `inFlight` at a time for `durationMs`; numbers go on from phase to phase. */
let lastNumber = 0;

export async function publishAtOnce({ inFlight, durationMs }, publish) {
  const first = lastNumber;
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + durationMs;
  const one = async () => {
    while (performance.now() < endsAtMs) {
      lastNumber += 1;
      await publish(lastNumber);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  const elapsedMs = performance.now() - startedAtMs;
  const cpu = process.cpuUsage(cpuBefore);
  return { count: lastNumber - first, elapsedMs, cpuMs: (cpu.user + cpu.system) / 1_000 };
}
