// Runs the batches of seeds that it is sent, until it is sent null.
import { parentPort, workerData } from 'node:worker_threads';

// Refusals are errors, and their stack traces would cost more than all the rest; a replay has them.
Error.stackTraceLimit = 0;

const { default: runs } = await import(workerData.entry);
const without = new Set(workerData.without);

parentPort.on('message', (batch) => {
  if (batch === null) {
    parentPort.close();
    return;
  }
  runBatch(batch).then(
    (outcomes) => parentPort.postMessage(outcomes),
    (error) => {
      throw error;
    },
  );
});

async function runBatch({ from, to }) {
  const outcomes = [];
  for (let seed = from; seed <= to; seed += 1) {
    outcomes.push(await runs.runSchedule({ seed, keepsTrace: false, without }));
  }
  return outcomes;
}
