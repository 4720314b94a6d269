// One consumer process of the demo. It writes one line into its log per entry handled and per shard gained or lost, at once:
// what a SIGKILL leaves is what really happened.
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { StreamConsumer } from 'redis-stream-coordinator/client';
import { sabotagedRedis } from './sabotage.mjs';

const {
  name,
  coordinatorUrl,
  redisUrl,
  streamPrefix,
  consumerGroup,
  concurrency,
  handlerMs,
  logFile,
  sabotage,
} = JSON.parse(process.argv[2]);

const ALIVE_INTERVAL_MS = 100;
const log = openSync(logFile, 'a');

function note(kind, details = {}) {
  const at = Number(process.hrtime.bigint() / 1_000n);
  writeSync(log, `${JSON.stringify({ kind, at, ...details })}\n`);
}

const consumer = new StreamConsumer({
  coordinatorUrl,
  redis: sabotage === null ? redisUrl : sabotagedRedis(redisUrl, sabotage),
  streamPrefix,
  consumerGroup,
  memberId: name,
  concurrency,
  handler: async (message, context) => {
    await sleep(handlerMs); // the work
    const { id, shard, fields } = message;
    note('handled', { shard, id, row: Number(fields.row), delivery: context.deliveryCount });
  },
});
consumer.on('assigned', ({ memberId, shard }) => note('assigned', { shard, member: memberId }));
consumer.on('revoked', ({ memberId, shard, reason }) => note('revoked', { shard, member: memberId, reason }));
consumer.on('error', (error) => console.error(`${new Date().toISOString()} ${error.message}`));

process.once('SIGTERM', () => {
  void consumer.stop().then(() => process.exit(0));
});
process.once('disconnect', () => process.exit(1)); // the demo is gone

note('alive');
setInterval(() => note('alive'), ALIVE_INTERVAL_MS).unref();
await consumer.start();
process.send({ kind: 'started' });
