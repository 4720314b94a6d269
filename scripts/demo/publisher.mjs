// The publisher process of the demo: sends every row of the input once, in bursts, so that consumers have work in hand most of
// the time. It tells the runner how far it is after each burst.
import { setTimeout as sleep } from 'node:timers/promises';
import { StreamPublisher } from 'redis-stream-coordinator/client';
import { partitionKeyOf, readRows } from './input.mjs';

const {
  coordinatorUrl,
  redisUrl,
  streamPrefix,
  consumerGroup,
  inputFile,
  rowLimit,
  burstSize,
  burstIntervalMs,
} = JSON.parse(process.argv[2]);

const MAX_ATTEMPTS = 20;
const RETRY_DELAY_MS = 250;

process.once('disconnect', () => process.exit(1)); // the demo is gone

const publisher = new StreamPublisher({ coordinatorUrl, redis: redisUrl, streamPrefix, consumerGroup });
await publisher.start();

const items = readRows(inputFile, rowLimit).map((row, index) => ({
  key: partitionKeyOf(row),
  content: { row: index, date: row.date, origin: row.origin, destination: row.destination, delay: row.delay },
}));
for (let start = 0; start < items.length; start += burstSize) {
  const nextBurstAtMs = performance.now() + burstIntervalMs;
  await publishAll(items.slice(start, start + burstSize));
  process.send({ kind: 'published', count: Math.min(start + burstSize, items.length) });
  await sleep(Math.max(0, nextBurstAtMs - performance.now()));
}
await publisher.close();
process.send({ kind: 'done' }, () => process.exit(0));

/** What fails is sent again before anything later is. */
async function publishAll(batch) {
  let open = batch;
  for (let attempt = 1; open.length > 0; attempt++) {
    const outcomes = await publisher.publishBatch(open);
    const failures = outcomes.filter(({ ok }) => !ok);
    open = open.filter((_, index) => !outcomes[index].ok);
    if (failures.length === 0) return;
    console.error(`${failures.length} publishes failed: ${failures[0].error.message}`);
    if (attempt >= MAX_ATTEMPTS || failures[0].error.retryable === false) throw failures[0].error;
    await sleep(RETRY_DELAY_MS);
  }
}
